package ripc

import (
	"sync"
	"testing"
)

// A link may be lost before whoever has made it says so. What was sent meanwhile has waited for that, and goes over another one; a process
// that nobody has anything for is forgotten.
func TestALinkThatIsLostAtOnce(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	echo(t, b, "echo")
	ask(t, a, "echo", "the first")
	var p *peer
	lose := func() {
		p.dials = true
		p.link.Close()
	}
	dialled := func() bool {
		p = a.office.peers[b.ID()]
		return !p.dials
	}
	until(t, a, "it was dialled", dialled)
	check(t, a.on(lose))
	var done sync.WaitGroup
	done.Go(func() { ask(t, a, "echo", "the second") })
	until(t, a, "it waits", func() bool { return !p.queue.Empty() })
	check(t, a.on(func() { p.dialled(nil) }))
	done.Wait()

	until(t, a, "it was dialled again", dialled)
	check(t, a.on(func() {
		lose()
		p.dialled(nil)
		if len(a.office.peers) > 0 {
			t.Error("a process without a link is remembered")
		}
	}))
}
