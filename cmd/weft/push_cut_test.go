package main

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

// goOn has agents that were stopped give up their push: when the lease is over, or, where there is no time or was no push, by their end.
func (f *fleet) goOn(some ...*fleetAgent) {
	f.t.Helper()
	for _, a := range some {
		if !isLong() || f.held(a) == 0 {
			a.kill()
			continue
		}
		a.signal(syscall.SIGCONT)
		a.log.await(f.t, "push is over")
	}
}

// An agent that is silent, and alive, does not keep the others from finishing. When it goes on it gives the push up, and a rerun
// sends it what it lacks.
func TestPushAgentStalls(t *testing.T) {
	t.Parallel()
	atMoments(t, []string{half.name}, func(t *testing.T, m moment) {
		f := newFleet(t, 3, 1<<20)
		silent := f.agents[1]
		if m.name == "examine" {
			f.give(f.agents[0])
		}
		u := f.slowly()
		f.await(u, m, silent)
		silent.signal(syscall.SIGSTOP)
		r := f.ended(u)
		if m.name == half.name {
			says(t, r, silent, "does not answer")
			missed(t, f, silent)
		}
		f.goOn(silent)
		f.rerun(r)
	})
}

// One that is silent for a moment only is waited for.
func TestPushAgentPauses(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 2<<20)
	u := f.slowly()
	f.await(u, half, f.agents[2])
	f.agents[2].signal(syscall.SIGSTOP)
	u.until(passes(time.Second))
	f.agents[2].signal(syscall.SIGCONT)
	f.rerun(u.end(push.ExitOK))
}

// link has the link of an agent's host go down, or up.
func (f *fleet) link(a *fleetAgent, state string) {
	f.t.Helper()
	if out, err := f.network.Command(f.t.Context(), a.number, "ip", "link", "set", "eth0", state).CombinedOutput(); err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
}

// A host that is cut off is given up, with what it has; when its link is back, a rerun sends it what it lacks.
func TestPushLinkCut(t *testing.T) {
	t.Parallel()
	f := newRemoteFleet(t, 3, 2<<20, "100mbit")
	lost := f.agents[1]
	u := f.slowly()
	f.await(u, half, lost)
	f.link(lost, "down")
	r := u.end(push.ExitPartial)
	if h := outcomeOf(r, lost); h.Outcome != push.OutcomeFailed {
		t.Errorf("%+v", h)
	}
	lost.log.await(t, "push is over")
	missed(t, f, lost)
	f.link(lost, "up")
	f.rerun(r)
}

// One that is cut off for a moment is waited for: TCP sends again what was lost.
func TestPushLinkFlaps(t *testing.T) {
	t.Parallel()
	f := newRemoteFleet(t, 3, 2<<20, "100mbit")
	u := f.slowly()
	f.await(u, half, f.agents[0])
	f.link(f.agents[0], "down")
	u.until(passes(time.Second))
	f.link(f.agents[0], "up")
	f.rerun(u.end(push.ExitOK))
}

// A host whose link has half the rate is served last, so that the others need not wait for it; and then it has everything, too.
func TestPushSlowLink(t *testing.T) {
	f := newRemoteFleet(t, 4, 20<<20, "40mbit")
	slow := f.agents[2]
	if err := f.network.Limit(slow.number, "20mbit"); err != nil {
		t.Fatal(err)
	}
	u := f.push()
	if !u.until(happened(push.EventDemoted, slow.address)) {
		t.Fatalf("it was not demoted: %s", &u.story)
	}
	var order []string
	u.until(func(e push.Event) bool {
		if e.Kind == push.EventHostDone || begins("stragglers")(e) {
			order = append(order, e.Host+e.Phase)
		}
		return false
	})
	if n := len(order); n != 5 || order[3] != "stragglers" || order[4] != slow.address {
		t.Errorf("they were done in this order: %q", order)
	}
	r := u.end(push.ExitOK)
	for _, a := range f.agents {
		if h := outcomeOf(r, a); h.Demoted != (a == slow) {
			t.Errorf("%+v", h)
		}
		if l, h := f.layout(), outcomeOf(r, a); h.Received > l.WireSize()+l.WireSize()/8 {
			t.Errorf("%s was sent %d bytes for %d", a.name, h.Received, l.WireSize())
		}
	}
	f.clean(r)
}

// Many agents are served on one machine.
func TestPushManyAgents(t *testing.T) {
	size := 1 << 20
	if isLong() {
		size = 64 << 20
	}
	f := newFleet(t, 64, size)
	f.clean(f.push().end(push.ExitOK))
	if isLong() {
		put(t, filepath.Join(f.source, "one"), "another one")
		f.clean(f.push("-f", "--provider", "shm").end(push.ExitOK))
	}
}
