package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/push"
)

// An agent that is silent, and alive, does not keep the others from finishing. When it goes on it gives the push up, and a rerun
// sends it what it lacks.
func TestPushAgentStalls(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 2<<20)
	silent := f.agents[1]
	u := f.slowly()
	f.await(u, half, silent)
	silent.signal(syscall.SIGSTOP)
	r := u.end(push.ExitPartial)
	silent.signal(syscall.SIGCONT)
	says(t, r, silent, "does not answer")
	silent.log.await(t, "push is over")
	missed(t, f, silent)
	f.rerun(r)
}

// One that is silent for a moment only is waited for.
func TestPushAgentPauses(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 2<<20)
	u := f.slowly()
	f.await(u, half, f.agents[2])
	f.agents[2].signal(syscall.SIGSTOP)
	u.until(func(e push.Event) bool { return e.Kind == push.EventProgress })
	u.until(func(e push.Event) bool { return e.Kind == push.EventProgress })
	f.agents[2].signal(syscall.SIGCONT)
	f.rerun(u.end(push.ExitOK))
}

// link has the link of an agent's host go down, or up.
func (f *fleet) link(a *agentProcess, state string) {
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
	if h := outcome(r, lost); h.Outcome != push.OutcomeFailed {
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
	u.until(func(e push.Event) bool { return e.Kind == push.EventProgress })
	f.link(f.agents[0], "up")
	f.rerun(u.end(push.ExitOK))
}

// A host whose link has half the rate is served last, so that the others need not wait for it; and then it has everything, too.
func TestPushSlowLink(t *testing.T) {
	t.Parallel()
	f := newRemoteFleet(t, 4, 24<<20, "40mbit")
	slow := f.agents[2]
	for _, line := range []string{"dev eth0 root tbf rate 20mbit burst 64kb latency 50ms"} {
		args := strings.Fields("qdisc replace " + line)
		if out, err := f.network.Command(t.Context(), slow.number, "tc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	u := f.push()
	if !u.until(happened(push.EventDemoted, slow.address)) {
		t.Fatalf("it was not demoted: %s", &u.story)
	}
	var order []string
	for done := func(e push.Event) bool { return e.Kind == push.EventHostDone || begins("stragglers")(e) }; ; {
		e, more := u.next()
		if !more {
			break
		}
		if done(e) {
			order = append(order, e.Host+e.Phase)
		}
	}
	if n := len(order); n != 5 || order[3] != "stragglers" || order[4] != slow.address {
		t.Errorf("they were done in this order: %q", order)
	}
	r := u.end(push.ExitOK)
	for _, a := range f.agents {
		if h := outcome(r, a); h.Demoted != (a == slow) {
			t.Errorf("%+v", h)
		}
		if l, h := f.layout(), outcome(r, a); h.Received > l.WireSize()+l.WireSize()/8 {
			t.Errorf("%s was sent %d bytes for %d", a.name, h.Received, l.WireSize())
		}
	}
	f.clean(r)
}

// Many agents on one machine.
func TestPushManyAgents(t *testing.T) {
	size := 1 << 20
	if isLong() {
		size = 64 << 20
	}
	f := newFleet(t, 64, size)
	for _, way := range []string{"tcp", "shm"} {
		t.Run(way, func(t *testing.T) {
			r := f.push("--provider", way, "-f").end(push.ExitOK)
			f.clean(r)
			put(t, f.source+"/one", fmt.Sprint("another one, after ", way))
		})
	}
}
