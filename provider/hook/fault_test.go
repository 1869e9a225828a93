package hook

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestPlanIsChecked(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want string // empty: valid
	}{
		{Rule{Fail: driver.RetryExceeded}, ""},
		{Rule{Op: driver.OpWrite, Every: 3, Fail: driver.RemoteAccess}, ""},
		{Rule{Lie: DropCompletion, Op: driver.OpConnect}, ""},
		{Rule{}, "exactly one"},
		{Rule{Lie: WrongTag, Polls: 1}, "has 2"},
		{Rule{Lie: WrongTag, Nth: 1, Every: 1}, "both Nth"},
		{Rule{Fail: driver.Flushed}, "Flushed"},
		{Rule{Fail: driver.LocalLength}, "LocalLength"},
		{Rule{Fail: driver.RemoteAccess, Op: driver.OpReceive}, "not a request"},
		{Rule{Polls: -1}, "negative"},
		{Rule{Delay: -1}, "negative"},
		{Rule{Lie: lieCount}, "unknown Lie"},
		{Rule{Refuse: objectCount}, "unknown Object"},
	} {
		err := Plan{[]Rule{{Lie: WrongTag}, c.rule}}.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v, want %q", c.rule, err, c.want)
		}
	}
}

func TestInvalidPlanMakesNothing(t *testing.T) {
	device := Fault(newFake(), Plan{[]Rule{{}}})
	_, err := device.NewDomain()
	_, err2 := device.NewCompletionQueue(1)
	if err == nil || err2 == nil || !strings.Contains(err.Error(), "rule 0") {
		t.Errorf("errors %v and %v", err, err2)
	}
}

// TestWhen posts three requests to each of two queue pairs, and looks which of them a rule strikes.
func TestWhen(t *testing.T) {
	for _, c := range []struct {
		name string
		rule Rule
		want string
	}{
		{"always", Rule{}, "a1 a2 a3 b1 b2 b3"},
		{"nth", Rule{Nth: 4}, "b1"},
		{"every", Rule{Every: 2}, "a2 b1 b3"},
		{"op", Rule{Op: driver.OpRead}, "a2 b2"},
		{"nth op", Rule{Op: driver.OpRead, Nth: 2}, "b2"},
		{"queue", Rule{Queue: 2}, "b1 b2 b3"},
		{"match", Rule{Match: func(e Event) bool { return e.Tag == 3 && e.Bytes == 8 }}, "a3 b3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			c.rule.Kill = func(e Event) { got = append(got, fmt.Sprintf("%c%d", 'a'+rune(e.Queue-1), e.Tag)) }
			r := faulty(t, c.rule)
			for _, q := range []driver.QueuePair{r.a, r.b} {
				r.post(q, r.request(1, driver.OpWrite, 0), r.request(2, driver.OpRead, 0), r.request(3, driver.OpWrite, 0))
			}
			r.poll()
			if strings.Join(got, " ") != c.want {
				t.Errorf("struck %v, want %s", got, c.want)
			}
		})
	}
}

func TestKillAtArrival(t *testing.T) {
	var killed []Event
	r := faulty(t, Rule{Op: driver.OpReceive, Nth: 2, Kill: func(e Event) { killed = append(killed, e) }})
	r.receive(1, 2, 3)
	for range 3 {
		r.post(r.a, r.request(9, driver.OpSend, driver.Quiet))
	}
	r.expect(end{1, driver.OpReceive, 0}, end{2, driver.OpReceive, 0}, end{3, driver.OpReceive, 0})
	if len(killed) != 1 || killed[0].Tag != 2 {
		t.Errorf("killed at %+v", killed)
	}
}

func TestFail(t *testing.T) {
	failAll(t, func(t *testing.T, plan Plan) *rig { return faulty(t, plan.Rules...) })
}

// failAll: the request fails with the status, what is behind it is flushed, what is before it is not, whatever the tags
// are. A refusal reaches the peer.
func failAll(t *testing.T, open func(*testing.T, Plan) *rig) {
	for status := driver.LocalProtection; status <= driver.RetryExceeded; status++ {
		if status == driver.LocalLength {
			continue
		}
		for _, op := range []driver.Op{driver.OpSend, driver.OpWrite, driver.OpRead, driver.OpFetchAdd} {
			t.Run(fmt.Sprint(status, op), func(t *testing.T) {
				failOne(t, open(t, Plan{[]Rule{{Op: op, Nth: 2, Fail: status}}}), op, status)
			})
		}
	}
}

func failOne(t *testing.T, r *rig, op driver.Op, status driver.Status) {
	r.receive(1, 2)
	r.post(r.a, r.request(7, op, 0), r.request(7, op, driver.Quiet), r.request(7, op, 0))
	var ends []end
	for _, c := range r.poll() {
		if c.Queue == r.a.Number() {
			ends = append(ends, end{c.Tag, c.Op, c.Status})
		}
	}
	want := []end{{7, op, driver.OK}, {7, op, status}, {7, op, driver.Flushed}}
	if fmt.Sprint(ends) != fmt.Sprint(want) {
		t.Errorf("ended %v, want %v", ends, want)
	}
	if r.a.State() != driver.Error || status.Refused() && r.b.State() != driver.Error {
		t.Errorf("states %v and %v", r.a.State(), r.b.State())
	}
}

// TestFailEmpty: a message without bytes names no memory, and must fail all the same.
func TestFailEmpty(t *testing.T) {
	for _, status := range []driver.Status{driver.RemoteInvalid, driver.RetryExceeded} {
		r := faulty(t, Rule{Fail: status})
		r.post(r.a, driver.Request{Tag: 5, Op: driver.OpSend})
		r.expect(end{5, driver.OpSend, status})
		if r.a.State() != driver.Error || (r.b.State() == driver.Error) != status.Refused() {
			t.Errorf("%v: states %v and %v", status, r.a.State(), r.b.State())
		}
	}
}

// TestFailTooLate: a request that was to fail is flushed like any other behind one that failed by itself.
func TestFailTooLate(t *testing.T) {
	r := faulty(t, Rule{Nth: 2, Fail: driver.RetryExceeded})
	bad := r.request(1, driver.OpWrite, 0)
	bad.Remote.Key = 77
	r.post(r.a, bad, r.request(2, driver.OpRead, 0))
	r.expect(end{1, driver.OpWrite, driver.RemoteAccess}, end{2, driver.OpRead, driver.Flushed})
}

// TestRulesCountAlone: a rule counts events that another rule strikes too.
func TestRulesCountAlone(t *testing.T) {
	r := faulty(t, Rule{Lie: WrongTag, Nth: 1}, Rule{Lie: WrongTag, Nth: 2})
	r.post(r.a, r.request(10, driver.OpWrite, 0), r.request(20, driver.OpWrite, 0), r.request(30, driver.OpWrite, 0))
	r.expect(end{11, driver.OpWrite, 0}, end{21, driver.OpWrite, 0}, end{30, driver.OpWrite, 0})
}

func TestRefuse(t *testing.T) {
	device := Fault(newFake(), Plan{[]Rule{{Refuse: DomainObject, Nth: 2}, {Refuse: MemoryObject, Nth: 3},
		{Refuse: QueuePairObject, Every: 2}, {Refuse: SharedReceivesObject}, {Refuse: CompletionQueueObject, Nth: 2},
		{Refuse: WindowObject}}})
	domain := must(device.NewDomain())(t)
	queue := must(device.NewCompletionQueue(1))(t)
	config := driver.QueueConfig{Completions: queue}
	must(domain.Register(make([]byte, 1), 0))(t)
	must(domain.(driver.Allocator).Alloc(1, 0))(t)
	pair := must(domain.NewQueuePair(config))(t)
	for name, err := range map[string]error{
		"domain":           second(device.NewDomain()),
		"completion queue": second(device.NewCompletionQueue(1)),
		"memory":           second(domain.Register(make([]byte, 1), 0)),
		"queue pair":       second(domain.NewQueuePair(config)),
		"shared receives":  second(domain.(driver.SharedReceiver).NewSharedReceives(driver.SharedConfig{Completions: queue})),
		"window":           second(pair.(driver.Windows).NewWindow()),
	} {
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	must(domain.NewQueuePair(config))(t)
}

func TestHoldForPolls(t *testing.T) {
	r := faulty(t, Rule{Op: driver.OpWrite, Nth: 2, Polls: 2})
	r.post(r.a, r.request(1, driver.OpWrite, 0), r.request(2, driver.OpWrite, 0), r.request(3, driver.OpWrite, 0))
	r.expect(end{1, driver.OpWrite, 0})
	if err := r.queue.(driver.Waiter).Wait(clock.Never, 0); err != nil || r.fake.now != 0 {
		t.Errorf("Wait slept until %v although a poll was needed (%v)", r.fake.now, err)
	}
	r.expect()
	r.expect(end{2, driver.OpWrite, 0}, end{3, driver.OpWrite, 0})
}

// TestHoldForTime: everything behind a delayed completion waits too, and sleepers wake in time.
func TestHoldForTime(t *testing.T) {
	r := faulty(t, Rule{Op: driver.OpRead, Delay: 25})
	r.post(r.a, r.request(1, driver.OpWrite, 0), r.request(2, driver.OpRead, 0), r.request(3, driver.OpWrite, 0))
	r.expect(end{1, driver.OpWrite, 0})
	waiter := r.queue.(driver.Waiter)
	for r.fake.now < 25 {
		r.expect()
		if err := waiter.Wait(clock.Never, 0); err != nil {
			t.Fatal(err)
		}
	}
	if r.fake.now != 25 {
		t.Errorf("slept until %v", r.fake.now)
	}
	r.expect(end{2, driver.OpRead, 0}, end{3, driver.OpWrite, 0})
}

// idle is a runner that wants nothing.
type idle struct{}

func (idle) Turn() (int, error) { return 0, nil }
func (idle) Next() clock.Time   { return 500 }
func (idle) Scans() bool        { return false }

func TestDrivenIsCalledInTime(t *testing.T) {
	r := faulty(t, Rule{Op: driver.OpRead, Delay: 25})
	inner := r.fake.pairs[r.a.Number()].queue
	r.queue.(driver.Driven).Drive(idle{})
	if got := inner.runner.Next(); got != 500 {
		t.Errorf("with nothing to do, next at %v", got)
	}
	r.post(r.a, r.request(1, driver.OpRead, 0))
	r.expect()
	if got := inner.runner.Next(); got != 25 {
		t.Errorf("with a completion held until 25, next at %v", got)
	}
	if r.queue.(driver.Driven).Drive(nil); inner.runner != nil {
		t.Error("the end of driving was not passed on")
	}
}

// TestPartialPost: what the device did not take leaves no trace.
func TestPartialPost(t *testing.T) {
	r := lying(t, CorruptPayload)
	r.fake.pairs[r.a.Number()].full = true
	before := word(r.mine)
	second := r.request(2, driver.OpWrite, 0)
	second.Span = span(r.mine, 16, 8)
	n, err := r.a.Post([]driver.Request{r.request(1, driver.OpWrite, 0), second})
	if n != 1 || err == nil || r.mine.Region().Bytes[16] != 17 {
		t.Fatalf("took %d (%v), left %d", n, err, r.mine.Region().Bytes[16])
	}
	r.expect(end{1, driver.OpWrite, 0})
	if word(r.mine) != before {
		t.Error("the source was not repaired")
	}
}

// TestRefusedPosts: lists that the device does not take do not push out what is under way.
func TestRefusedPosts(t *testing.T) {
	r := faulty(t)
	chained := r.request(50, driver.OpWrite, 0)
	chained.After = driver.Arrival{Queue: r.b.Number(), Count: 1}
	r.post(r.a, chained)
	r.fake.pairs[r.a.Number()].full = true
	for range 10 {
		if n, err := r.a.Post([]driver.Request{r.request(1, driver.OpRead, 0), r.request(2, driver.OpRead, 0)}); n != 0 {
			t.Fatalf("took %d (%v)", n, err)
		}
	}
	r.receive(3)
	r.connect(r.b, r.b)
	r.post(r.b, r.request(4, driver.OpSend, driver.Quiet))
	r.expect(end{900, driver.OpConnect, 0}, end{3, driver.OpReceive, 0}, end{50, driver.OpWrite, 0})
}

func TestListLongerThanTheSendQueue(t *testing.T) {
	r := faulty(t)
	if n, err := r.a.Post(make([]driver.Request, 9)); n != 0 || err == nil {
		t.Errorf("took %d of 9 (%v)", n, err)
	}
}

// TestCloseDropsWhatIsHeld: a closed queue pair reports nothing more.
func TestCloseDropsWhatIsHeld(t *testing.T) {
	r := faulty(t, Rule{Polls: 1}, Rule{Lie: LateInline})
	r.post(r.b, r.request(1, driver.OpWrite, 0))
	r.poll()
	r.post(r.b, r.request(2, driver.OpWrite, driver.Inline))
	closeAll(t, r.b)
	r.poll()
	r.expect()
}
