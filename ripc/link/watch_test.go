package link

import (
	"errors"
	"testing"
	"time"
)

// Nothing is under way on a link whose user only waits to hear something. It learns that the peer has gone all the same.
func TestTheEndOfAPeerIsNoticedByWhoKeepsTheLink(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, back := w.join(a, b)
		there.Keep(1)
		w.while(5 * watchEvery / 2)
		if len(a.ended) > 0 {
			t.Fatalf("it has ended: %v", a.ended)
		}
		back.Close()
		w.until("the end of the peer", func() bool { return len(a.ended) == 1 })
		there, back = w.join(a, b)
		there.Keep(1)
		there.Keep(-1)
		w.while(5 * watchEvery / 2)
		if there.watchSet || there.Kept() > 0 || !there.IsIdle() {
			t.Error("it is watched for nobody")
		}
		back.Close()
		w.while(time.Millisecond)
	})
}

// TestTheLastUserEndsALinkThatIsLeft: both ends have said farewell, and nothing is under way but a user.
func TestTheLastUserEndsALinkThatIsLeft(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{})
		there, _ := w.join(a, b)
		there.Keep(1)
		there.Leave()
		w.until("both have said farewell", func() bool { return there.saidFarewell && there.peerLeaves && there.flight.Empty() })
		there.Keep(-1)
		w.until("the link has ended", func() bool { return len(a.ended) == 1 && len(b.ended) == 1 })
		if !errors.Is(a.ended[0], errLeft) {
			w.t.Errorf("it has ended with %v", a.ended[0])
		}
	})
}
