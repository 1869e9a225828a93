package push

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// So many hosts are called at a time, and no more.
func TestFan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		errs := each(t.Context(), make([]*host, 10), 3, func(context.Context, *host) error {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return nil
		})
		if len(errs) != 10 || most.Load() != 3 {
			t.Errorf("of %d hosts %d were called at a time", len(errs), most.Load())
		}
	})
}

// A failure is told when it comes, and not when the last host has answered.
func TestFailuresAreToldAtOnce(t *testing.T) {
	told := make(chan string, 1)
	p := &pusher{Config: Config{Events: func(e Event) { told <- e.Host + " " + e.Text }}.withDefaults(), board: newBoard(t.Context())}
	defer p.board.close()
	all := []*host{{name: "n1"}, {name: "n2"}}
	p.atEach(t.Context(), all, 2, func(_ context.Context, h *host) error {
		if h == all[0] {
			return errors.New("it is odd")
		}
		if text := <-told; text != "n1 it is odd" {
			t.Errorf("it is told: %s", text)
		}
		return nil
	})
	if all[0].alive() || !all[1].alive() {
		t.Error("given up is another one")
	}
}
