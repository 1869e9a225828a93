package presence

import (
	"io"
	"net/netip"
	"testing"
	"time"
)

// ear is a tell that keeps what it hears.
type ear chan Word

func newEar() ear { return make(ear, 10) }

func (e ear) tell(w Word) { e <- w }

// next waits for a word.
func (e ear) next(t *testing.T, want Word) {
	t.Helper()
	select {
	case got := <-e:
		if got != want {
			t.Fatalf("told %d, want %d", got, want)
		}
	case <-time.After(hangs):
		t.Fatalf("never told %d", want)
	}
}

// Who begins to watch a queue pair that exists is told so, also if somebody here watches it already; then that it ended.
func TestHereIsTold(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	n := NewName()
	server.Register(n)
	first, second := newEar(), newEar()
	client.Watch(n, server.at(), first.tell)
	first.next(t, Here)
	client.Watch(n, server.at(), second.tell)
	second.next(t, Here)
	server.End(n)
	first.next(t, Gone)
	second.next(t, Gone)
}

// Of a queue pair that ended nobody hears that it is here.
func TestEndedIsNeverHere(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	n := NewName()
	server.Register(n)
	server.End(n)
	e := newEar()
	client.Watch(n, server.at(), e.tell)
	e.next(t, Gone)
}

// A watch that is stopped when it hears that its peer is here hears nothing more.
func TestStopFromHere(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	n := NewName()
	server.Register(n)
	e, made := newEar(), make(chan struct{})
	var watch *Watch
	watch = client.Watch(n, server.at(), func(w Word) {
		<-made
		watch.Stop()
		e.tell(w)
	})
	close(made)
	e.next(t, Here)
	server.End(n)
	until(t, "hung up", func() bool { return server.visitors() == 0 })
	if len(e) > 0 {
		t.Errorf("told %d after Stop", <-e)
	}
}

// Without a port nobody can be reached: who asks is told once that nothing is known, also who asks while the line rests.
func TestUnknownIsTold(t *testing.T) {
	client := openTest(t, limits{visitors: 1, names: 10, pause: time.Millisecond}, io.Discard)
	resting := openTest(t, limits{visitors: 1, names: 10, pause: time.Hour}, io.Discard)
	nowhere := netip.MustParseAddrPort("127.0.0.1:0")
	for _, o := range []*Office{client, resting} {
		first, second := newEar(), newEar()
		o.Watch(NewName(), nowhere, first.tell)
		first.next(t, Unknown)
		o.Watch(NewName(), nowhere, second.tell)
		second.next(t, Unknown)
		time.Sleep(20 * time.Millisecond) // for a few attempts
		if len(first)+len(second) > 0 {
			t.Error("told twice")
		}
	}
}
