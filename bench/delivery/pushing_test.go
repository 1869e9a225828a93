package delivery

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

// Who says when a push has had enough hears of its end, too, or the next one would have had enough too soon.
func TestEnoughHearsOfTheEnd(t *testing.T) {
	var heard []push.EventKind
	stopped := 0
	p := &pushing{stop: func() { stopped++ }}
	p.Enough = func(e push.Event) bool {
		heard = append(heard, e.Kind)
		return e.Kind == push.EventHostDone
	}
	for _, line := range []string{`{"event":"host_done","host":"n1"}`, `{"event":"host_done","host":"n2"}`, `{"event":"report"}`} {
		p.doneAt = map[string]time.Time{}
		if _, err := p.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if len(heard) != 3 || heard[2] != push.EventReport || stopped != 1 {
		t.Errorf("it has heard %v, and was stopped %d times", heard, stopped)
	}
}
