package ripc

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
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

// Devices from one of which nothing leads to the other are no matter of another try: who calls hears so at once.
func TestDevicesThatCannotMeet(t *testing.T) {
	var log lockedText
	nic := func(lanes soft.Lanes) *soft.Device {
		d, err := soft.New(soft.Config{Lanes: lanes})
		check(t, err)
		return d
	}
	d := newDirectory()
	a := newNodeOn(t, nic(soft.TCP), d, Config{})
	b := newNodeOn(t, nic(soft.SharedMemory), d, Config{Log: log.logger()})
	echo(t, b, "echo")
	if _, err := a.Call(patient(t), Name("echo"), nil); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no lane leads there") {
		t.Error(err)
	}
	const refused = "a process was not linked"
	until(t, b, "the other is told", func() bool { return strings.Contains(log.String(), refused) })
	if text := log.String(); strings.Count(text, refused) != 1 {
		t.Errorf("it was tried again: %s", text)
	}
}
