package ripc

import (
	"errors"
	"net/netip"
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
	wasTriedOnce(t, b, &log)
}

// wasTriedOnce fails the test if a node, of which this is the log, was dialled in vain more than once.
func wasTriedOnce(t *testing.T, n *Node, log *lockedText) {
	t.Helper()
	const refused = "a process was not linked"
	until(t, n, "the other is told", func() bool { return strings.Contains(log.String(), refused) })
	if text := log.String(); strings.Count(text, refused) != 1 {
		t.Errorf("it was tried again: %s", text)
	}
}

// Nor is one of another host, if nothing was configured by which it could be known.
func TestWhoCannotBeKnownIsNotTriedAgain(t *testing.T) {
	var log lockedText
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{Listen: []string{"127.0.0.1:0"}, Plain: true, Log: log.logger()})
	echo(t, b, "echo")
	if _, err := a.Call(patient(t), Name("echo"), nil); !errors.Is(err, ErrUnreachable) || !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
	wasTriedOnce(t, b, &log)
}

// Who listens at all addresses of its host is known by one that others can dial.
func TestANodeThatListensEverywhere(t *testing.T) {
	n := newNode(t, nil, Config{Listen: []string{"0.0.0.0:0", "127.0.0.1:0"}, Plain: true})
	for _, at := range n.Addresses() {
		if where, err := netip.ParseAddrPort(at); err != nil || where.Addr().IsUnspecified() {
			t.Errorf("others are told %s: %v", at, err)
		}
	}
}

// A process that was not told where to listen cannot be dialled from other hosts. Who tries hears what to do there.
func TestAServiceThatIsHidden(t *testing.T) {
	n := newNode(t, nil, Config{})
	err := n.runDial([]string{ownSocket + "of-another-host"}, ID{}, nil)
	if err == nil || !strings.Contains(err.Error(), "set its Config.Listen") {
		t.Error(err)
	}
	guarded := newNode(t, nil, Config{Keys: cluster(t)("guarded")})
	if err := n.runDial(guarded.Addresses(), ID{}, nil); err == nil || strings.Contains(err.Error(), "Config.Listen") {
		t.Errorf("one of this host, that wants to know who comes: %v", err)
	}
}
