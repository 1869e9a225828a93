package push

import (
	"context"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// When all waited for a host until it was given up, that is what held them up, whatever hops and processors did.
func TestHostsThatWereWaitedFor(t *testing.T) {
	p := &pusher{board: newBoard(context.Background()), sending: time.Second, traffic: traffic{{"a", "b"}: {1e9, time.Second}}}
	for _, name := range []string{"node1", "node2", "node3"} {
		h := &host{name: name}
		p.hosts = append(p.hosts, h)
		p.board.notes[h] = &note{status: control.Status{Received: 5}}
	}
	const held = "node[1-2], until the others went on without"
	p.hosts[0].trouble = &control.Trouble{Class: control.Unreachable}
	p.hosts[1].trouble = &control.Trouble{Class: control.Late}
	p.hosts[2].trouble = &control.Trouble{Class: control.Preflight}
	if got := p.bottleneck(&Report{Efficiency: 0.4}); got != held {
		t.Error(got)
	}
	if got := p.bottleneck(&Report{Efficiency: 0.95}); got == held {
		t.Error("nobody was held up, and it says: " + got)
	}
}
