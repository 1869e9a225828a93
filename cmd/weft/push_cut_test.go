package main

import (
	"os"
	"path/filepath"
	"strings"
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
	l := f.layout()
	u := f.push()
	u.demotes(slow, "its link is slow")
	r := f.servedLast(u, slow, l.WireSize()+l.WireSize()/8)
	if p := r.Plan; p.Bound <= 0 || p.Predicted < p.Bound || r.Bound <= 0 || r.Bound > r.Sending || r.Efficiency <= 0 || r.Efficiency > 1 {
		t.Errorf("no push is faster than its bound: %+v, %+v", p, r)
	}
	if !strings.Contains(r.Bottleneck, slow.address) {
		t.Errorf("what held it up is %q, and not %s", r.Bottleneck, slow.address)
	}
	if status, said := f.plainly("explain", "--last"); status != 0 || !strings.Contains(said, r.Bottleneck) {
		t.Errorf("status %d, no %q: %s", status, r.Bottleneck, said)
	}
}

// So is one that has most of the content already, as all have.
func TestPushSlowLinkOfARerun(t *testing.T) {
	if !isLong() {
		t.Skip("it takes some seconds until a host is known to be slow: WEFT_LONG=1 runs it")
	}
	f := newRemoteFleet(t, 4, 60<<20, "40mbit")
	slow := f.agents[2]
	if err := f.network.Limit(slow.number, "20mbit"); err != nil {
		t.Fatal(err)
	}
	for _, a := range f.agents {
		f.give(a)
		if err := os.Remove(filepath.Join(a.root, "tree", "one")); err != nil {
			t.Fatal(err)
		}
	}
	u := f.push()
	u.demotes(slow, "its link is slow")
	l := f.layout()
	f.servedLast(u, slow, (l.WireSize()+l.WireSize()/8)/3)
}

// demotes waits until an agent is left out for a reason.
func (u *underWay) demotes(slow *fleetAgent, why string) {
	u.t.Helper()
	if !u.until(happened(push.EventDemoted, slow.address)) {
		u.t.Fatalf("it was not demoted: %s", &u.story)
	}
	if !strings.Contains(u.story.String(), why) {
		u.t.Errorf("it does not say %q: %s", why, &u.story)
	}
}

// servedLast expects of the rest of a push that it serves an agent when the others are done. Nobody is sent more bytes than most.
func (f *fleet) servedLast(u *underWay, slow *fleetAgent, most uint64) *push.Report {
	f.t.Helper()
	var order []string
	u.until(func(e push.Event) bool {
		if e.Kind == push.EventHostDone || begins("stragglers")(e) {
			order = append(order, e.Host+e.Phase)
		}
		return false
	})
	if last := len(f.agents); len(order) != last+1 || order[last-1] != "stragglers" || order[last] != slow.address {
		f.t.Errorf("they were done in this order: %q", order)
	}
	r := u.end(push.ExitOK)
	for _, a := range f.agents {
		if h := outcomeOf(r, a); h.Demoted != (a == slow) || h.Received > most {
			f.t.Errorf("with at most %d bytes to each: %+v", most, h)
		}
	}
	f.clean(r)
	return r
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
