package hook

import (
	"strings"
	"testing"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

func tracedRig(t testing.TB, size int) (*rig, *Tracer) {
	var tracer *Tracer
	r := newRig(t, func(d driver.Device) driver.Device {
		d, tracer = Trace(slow{d.(*fake)}, size)
		return d
	})
	return r, tracer
}

// slow is a fake whose time moves by one with each look at the clock.
type slow struct{ *fake }

func (s slow) Clock() clock.Clock { return s }
func (s slow) Now() clock.Time    { s.now++; return s.now }

// ended keeps the spans of data operations.
func ended(spans []Span) []Span {
	var list []Span
	for _, s := range spans {
		if s.Op.IsRequest() || s.Op.IsReceive() {
			list = append(list, s)
		}
	}
	return list
}

func TestSpans(t *testing.T) {
	r, tracer := tracedRig(t, 100)
	r.fake.now = 1000
	r.receive(1)
	r.post(r.a, r.request(2, driver.OpSend, 0), r.request(3, driver.OpWrite, driver.Quiet))
	r.poll()
	bad := r.request(3, driver.OpWrite, driver.Quiet)
	bad.Remote.Key = 77
	r.post(r.a, bad)
	r.poll()
	a, b, never := r.a.Number(), r.b.Number(), clock.Never
	want := []Span{
		{1, b, 8, driver.OpReceive, driver.OK, 1001, 1002, 1005},
		{2, a, 8, driver.OpSend, driver.OK, 1003, 1004, 1005},
		// The failure is taken for that of the older Quiet request of the same tag: nothing tells them apart.
		{3, a, 8, driver.OpWrite, driver.RemoteAccess, 1003, 1004, 1008},
		{3, a, 8, driver.OpWrite, driver.OK, 1006, 1007, never},
	}
	got := ended(tracer.Spans())
	if len(got) != len(want) {
		t.Fatalf("spans %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("span %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if s := got[1]; !s.Whole() || s.Posting() != 1 || s.Latency() != 2 || got[3].Done() {
		t.Errorf("posting %v, latency %v", s.Posting(), s.Latency())
	}
}

// TestQuietDoesNotPair: a success cannot be that of a Quiet request, even if the trace shows no other.
func TestQuietDoesNotPair(t *testing.T) {
	_, tracer := Trace(newFake(), 4)
	tracer.put(Record{Tag: 1, Queue: 1, Op: driver.OpWrite, Flags: driver.Quiet, Stage: Called})
	tracer.put(Record{Tag: 1, Queue: 1, Op: driver.OpWrite, Stage: Completed})
	if got := tracer.Spans(); len(got) != 2 || got[0].Done() || !got[1].Done() {
		t.Errorf("spans %+v", got)
	}
}

func TestSpansOfControlCalls(t *testing.T) {
	r, tracer := tracedRig(t, 100)
	r.a.SetAccess(11, 0)
	r.a.Reset(12)
	r.poll()
	whole := map[driver.Op]int{}
	for _, s := range tracer.Spans() {
		if s.Whole() {
			whole[s.Op]++
		}
	}
	if whole[driver.OpConnect] != 2 || whole[driver.OpQueueAccess] != 1 || whole[driver.OpReset] != 1 {
		t.Errorf("whole spans: %v", whole)
	}
}

func TestSpansOfSharedReceives(t *testing.T) {
	r, tracer := tracedRig(t, 100)
	shared := must(r.domain.(driver.SharedReceiver).NewSharedReceives(driver.SharedConfig{Completions: r.queue}))(t)
	c := must(r.domain.NewQueuePair(driver.QueueConfig{Completions: r.queue, Shared: shared}))(t)
	shared.PostReceive([]driver.Receive{{Tag: 5, Span: span(r.theirs, 0, 8)}})
	r.connect(r.a, c)
	r.post(r.a, r.request(6, driver.OpSend, 0))
	r.poll()
	if got := ended(tracer.Spans()); len(got) != 2 || got[0].Queue != c.Number() || !got[0].Whole() {
		t.Errorf("spans %+v", got)
	}
}

func TestRingKeepsTheYoungest(t *testing.T) {
	r, tracer := tracedRig(t, 4)
	lost := tracer.Lost()
	for tag := driver.Tag(1); tag <= 3; tag++ {
		r.post(r.a, r.request(tag, driver.OpWrite, 0))
		r.poll()
	}
	got := tracer.Records()
	if len(got) != 4 || tracer.Lost() != lost+9 {
		t.Fatalf("%d records, %d lost", len(got), tracer.Lost())
	}
	for i, want := range []struct {
		tag   driver.Tag
		stage Stage
	}{{2, Completed}, {3, Called}, {3, Returned}, {3, Completed}} {
		if got[i].Tag != want.tag || got[i].Stage != want.stage {
			t.Errorf("record %d: %v, want %v", i, got[i], want)
		}
	}
	if s := tracer.Spans(); len(s) != 2 || s[0].Whole() || !s[1].Whole() {
		t.Errorf("spans %+v", s)
	}
}

func TestTracesOnlyWhatWasTaken(t *testing.T) {
	r, tracer := tracedRig(t, 100)
	r.fake.pairs[r.a.Number()].full = true
	r.a.Post([]driver.Request{r.request(1, driver.OpWrite, 0), r.request(2, driver.OpWrite, 0)})
	if got := ended(tracer.Spans()); len(got) != 1 || got[0].Tag != 1 {
		t.Errorf("spans %+v", got)
	}
}

func TestDump(t *testing.T) {
	r, tracer := tracedRig(t, 3)
	r.post(r.a, r.request(42, driver.OpWrite, 0))
	r.poll()
	var text strings.Builder
	if err := tracer.Dump(&text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "lost") || !strings.Contains(lines[1], "called") ||
		!strings.Contains(lines[3], "OK") || !strings.Contains(lines[2], "42") {
		t.Errorf("dump:\n%s", text.String())
	}
}

func TestTinyRing(t *testing.T) {
	if _, tracer := Trace(newFake(), -1); len(tracer.ring) != 1 {
		t.Errorf("ring of %d", len(tracer.ring))
	}
}
