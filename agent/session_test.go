package agent

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/target"
)

// Only a pusher is listened to.
func TestRoles(t *testing.T) {
	for _, role := range []string{control.RoleAgent, "member", "", "Pusher"} {
		wantTrouble(t, checkCaller(keys.Identity{Name: "x", Role: role}, true), control.Authorization, "only a pusher")
	}
	wantTrouble(t, checkCaller(keys.Identity{Role: control.RolePusher}, false), control.Authorization, "certificate")
	check(t, checkCaller(keys.Identity{Name: "x", Role: control.RolePusher}, true))
}

// Who is interrupted while an agent opens the push ends it, and does not know which of both is heard first. Nothing may be left that keeps
// the next push away.
func TestEndedBeforeItIsOpened(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	must[control.Empty](r, control.MethodAbort, control.Abort{ID: p.id})
	_, err := ask[control.Opened](r, r.caller, control.MethodOpen, p.order)
	wantTrouble(t, err, control.Other, "ended before")
	if r.agent.openPushes() != 0 || r.agent.blocks.used() != 0 || !r.disk.of(p.id).isKept() {
		t.Error("something is left of it")
	}
	for range 2 * MaxPushes {
		must[control.Empty](r, control.MethodAbort, control.Abort{ID: newPlay(r, 0).id})
	}
	if n := len(r.agent.disowned); n != MaxPushes {
		t.Errorf("%d are remembered", n)
	}
}

// A pusher whose connection broke asks again, while its first call is still being answered.
func TestOpenedTwiceAtATime(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	entered, goOn := make(chan struct{}), make(chan struct{})
	var first sync.Once
	r.disk.starting = func() { first.Do(func() { close(entered); <-goOn }) }
	var opening sync.WaitGroup
	opening.Go(func() { must[control.Opened](r, control.MethodOpen, p.order) })
	<-entered
	opening.Go(func() { must[control.Opened](r, control.MethodOpen, p.order) })
	time.Sleep(10 * time.Millisecond) // so that it finds nothing to close, most of the time
	close(goOn)
	opening.Wait()
	if n := r.agent.openPushes(); n != 1 {
		t.Errorf("%d pushes are open", n)
	}
}

// What somebody at the host can do something about is told as such.
func TestChangedAtTheHost(t *testing.T) {
	wantTrouble(t, troubleOf(fmt.Errorf("place x: %w", target.ErrChanged)), control.Preflight, "push again")
}

// The key of a push is certified by the very member that calls.
func TestWhoseKeyItIs(t *testing.T) {
	r := newRig(t, Config{})
	other, _ := r.cluster.issue("other", control.RolePusher)
	foreign, _ := newCluster(t).issue("ops", control.RolePusher)
	for name, change := range map[string]func(p *play){
		"no chain":         func(p *play) { p.order.Chain = nil },
		"no certificate":   func(p *play) { p.order.Chain = [][]byte{{1, 2}} },
		"no signature":     func(p *play) { p.order.Signed = []byte{1} },
		"another push":     func(p *play) { p.order.ID[0] ^= 1 },
		"another key":      func(p *play) { p.order.Key, _, _ = ed25519.GenerateKey(rand.Reader) },
		"short key":        func(p *play) { p.order.Key = p.order.Key[:31] },
		"another member":   func(p *play) { p.certify(t, other) },
		"another cluster":  func(p *play) { p.certify(t, foreign) },
		"mixed":            func(p *play) { p.order.Chain = [][]byte{other.Certificate.Raw} },
		"of the authority": func(p *play) { p.certify(t, r.cluster.authority.Bundle()) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(r, testBlock)
			change(p)
			_, err := ask[control.Opened](r, r.caller, control.MethodOpen, p.order)
			var trouble *control.Trouble
			if !errors.As(err, &trouble) || trouble.Class != control.Authorization && !strings.Contains(trouble.Text, "malformed") {
				t.Error(err)
			}
		})
	}
	if r.agent.openPushes() != 0 {
		t.Error("a push is open")
	}
}

// Who finds a place in use hears it if the other pusher is silent: it may be dead, and the place free soon.
func TestSilentPusherInTheWay(t *testing.T) {
	r := newRig(t, Config{Lease: time.Minute})
	former, next := newPlay(r, testBlock), newPlay(r, testBlock)
	former.begin(r)
	next.order.Dest = former.order.Dest
	for silent, want := range map[time.Duration]bool{0: false, 10 * time.Second: true} {
		l := r.agent.all()[0].lease
		l.mu.Lock()
		l.until = time.Now().Add(time.Minute - silent)
		l.mu.Unlock()
		_, err := ask[control.Opened](r, r.caller, control.MethodOpen, next.order)
		wantTrouble(t, err, control.Preflight, "is used by push")
		if told := strings.Contains(err.Error(), "has not been heard of lately: if it is dead, its place is free in 5"); told != want {
			t.Errorf("silent for %v: %v", silent, err)
		}
	}
}

// certify has somebody certify the key.
func (p *play) certify(t *testing.T, owner *keys.Bundle) {
	t.Helper()
	var err error
	p.order.Signed, err = manifest.Certify(p.id, p.key, owner.Key, rand.Reader)
	check(t, err)
	p.order.Chain = [][]byte{owner.Certificate.Raw}
}

// A push belongs to who has opened it.
func TestAStrangersPush(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	p.begin(r)
	stranger := keys.Identity{Cluster: "c", Name: "mallory", Role: control.RolePusher}
	for name, q := range p.requests(1) {
		if name == control.MethodHello {
			continue
		}
		_, err := ask[any](r, stranger, name, q)
		wantTrouble(t, err, control.Authorization, "mallory")
	}
	must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id})
}

// When nothing is heard of the pusher, the push ends, and what has arrived stays.
func TestTheLeaseEnds(t *testing.T) {
	r := newRig(t, Config{Lease: 20 * time.Millisecond})
	p := newPlay(r, 3*testBlock)
	g := p.begin(r)
	p.deliver(t, g, manifest.ContentStream, 0)
	d := r.disk.of(p.id)
	<-d.kept
	for r.agent.openPushes() > 0 || len(r.agent.all()) > 0 {
		time.Sleep(time.Millisecond)
	}
	if d.isCommitted || len(d.content) != 1 || !r.last().isClosed || r.agent.blocks.used() != 0 || !slices.Contains(r.last().calls, "end") {
		t.Errorf("%v", r.last().calls)
	}
	_, err := ask[control.Status](r, r.caller, control.MethodStatus, control.StatusRequest{ID: p.id})
	wantTrouble(t, err, control.Other, "no such push")
}

// A call that is being answered holds the lease: somebody waits there.
func TestACallHoldsTheLease(t *testing.T) {
	l := newLease(time.Nanosecond)
	check(t, l.enter())
	time.Sleep(time.Microsecond)
	if l.left() == 0 {
		t.Error("it has ended")
	}
	for range maxSessionCalls - 1 {
		check(t, l.enter())
	}
	wantTrouble(t, l.enter(), control.Other, "too many calls")
	for range maxSessionCalls {
		l.leave()
	}
	time.Sleep(time.Microsecond)
	if l.left() != 0 {
		t.Error("it has not ended")
	}
}

// The second push to a path hears which is the first.
func TestTwoPushesToOnePath(t *testing.T) {
	r := newRig(t, Config{})
	first, second := newPlay(r, testBlock), newPlay(r, testBlock)
	second.order.Dest = first.order.Dest
	must[control.Opened](r, control.MethodOpen, first.order)
	_, err := ask[control.Opened](r, r.caller, control.MethodOpen, second.order)
	wantTrouble(t, err, control.Preflight, first.id.String())
	if r.agent.blocks.used() == 0 || len(r.agent.blocks.parts) != 1 {
		t.Error("the one that was refused has memory")
	}
	must[control.Empty](r, control.MethodAbort, control.Abort{ID: first.id})
	must[control.Opened](r, control.MethodOpen, second.order)
}

// Who opens a push again and wants it otherwise begins it anew, the same request that comes twice changes nothing, and who only checks leaves nothing.
func TestOpenAgain(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	p.order.Check = true
	must[control.Opened](r, control.MethodOpen, p.order)
	if r.agent.openPushes() != 0 || r.agent.blocks.used() != 0 {
		t.Error("a check has left something")
	}
	p.order.Check = false
	p.begin(r)
	former := r.disk.of(p.id)
	must[control.Opened](r, control.MethodOpen, p.order)
	if former.isKept() || r.agent.openPushes() != 1 {
		t.Error("a request that came twice has begun it anew")
	}
	p.order.Force = !p.order.Force
	must[control.Opened](r, control.MethodOpen, p.order)
	if !former.isKept() || r.agent.openPushes() != 1 || r.disk.of(p.id).isKept() {
		t.Error("it was not opened anew")
	}
	p.form(r, 1, p.plan())
}

// Pushes that do not fit into memory together are refused, and hear whom they wait for.
func TestMemory(t *testing.T) {
	r := newRig(t, Config{})
	r.agent.blocks.total = 10 * testBlock
	first, second := newPlay(r, testBlock), newPlay(r, testBlock)
	must[control.Opened](r, control.MethodOpen, first.order)
	must[control.Opened](r, control.MethodOpen, second.order)
	third := newPlay(r, testBlock)
	for _, isCheck := range []bool{true, false} {
		third.order.Check = isCheck
		_, err := ask[control.Opened](r, r.caller, control.MethodOpen, third.order)
		wantTrouble(t, err, control.Preflight, first.id.String())
		wantTrouble(t, err, control.Preflight, "ops on desk")
	}
	r.agent.blocks.total = 1
	must[control.Empty](r, control.MethodAbort, control.Abort{ID: first.id})
	must[control.Empty](r, control.MethodAbort, control.Abort{ID: second.id})
	_, err := ask[control.Opened](r, r.caller, control.MethodOpen, third.order)
	wantTrouble(t, err, control.Preflight, "--block")
}

// There is an end to how many pushes are open; those that are over make room.
func TestTooManyPushes(t *testing.T) {
	r := newRig(t, Config{})
	r.agent.blocks.total = 1 << 40
	var all []*play
	for range MaxPushes {
		p := newPlay(r, testBlock)
		must[control.Opened](r, control.MethodOpen, p.order)
		all = append(all, p)
	}
	one := newPlay(r, testBlock)
	_, err := ask[control.Opened](r, r.caller, control.MethodOpen, one.order)
	wantTrouble(t, err, control.Preflight, fmt.Sprint(MaxPushes))
	s, err := r.agent.find(r.caller, all[3].id)
	check(t, err)
	s.fail(errors.New("broken"))
	must[control.Opened](r, control.MethodOpen, one.order)
}

// A push that is over makes room for one other, however long it takes to give back what it has.
func TestRoomIsMadeOnce(t *testing.T) {
	r := newRig(t, Config{})
	r.agent.blocks.total = 1 << 40
	var first *session
	for i := range MaxPushes {
		p := newPlay(r, testBlock)
		must[control.Opened](r, control.MethodOpen, p.order)
		if i == 0 {
			first, _ = r.agent.find(r.caller, p.id)
		}
	}
	first.work <- struct{}{} // so that it takes long
	first.fail(errors.New("broken"))
	must[control.Opened](r, control.MethodOpen, newPlay(r, testBlock).order)
	_, err := ask[control.Opened](r, r.caller, control.MethodOpen, newPlay(r, testBlock).order)
	wantTrouble(t, err, control.Preflight, "under way")
	<-first.work
}

// A pusher of another version hears both.
func TestVersions(t *testing.T) {
	r := newRig(t, Config{Version: "v1.2.3"})
	g := must[control.Greeting](r, control.MethodHello, control.Hello{Version: control.Version, Weft: "v1"})
	if g.Weft != "v1.2.3" || g.Name != "node1" || g.Free == 0 || g.Memory != control.MemoryBudget || g.Plain {
		t.Errorf("%+v", g)
	}
	_, err := ask[control.Greeting](r, r.caller, control.MethodHello, control.Hello{Version: control.Version + 1, Weft: "v9"})
	wantTrouble(t, err, control.Preflight, "v9")
}

func TestServiceNames(t *testing.T) {
	for _, c := range []struct {
		name     string
		services []string
		want     string
	}{
		{"", []string{"agent/b", "kv/1", "agent/a", "agent/*"}, "agent/a agent/b"},
		{"x", []string{"agent/b", "agent/*"}, "agent/x"},
		{"", []string{"*"}, "agent/host"},
		{"", nil, "agent/host"},
	} {
		if got := strings.Join(serviceNames(c.name, keys.Identity{Name: "host", Services: c.services}), " "); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestTheFastestLink(t *testing.T) {
	dir := t.TempDir()
	for name, speed := range map[string]string{"eth0": "1000\n", "eth1": "25000\n", "lo": "-1\n", "odd": "fast"} {
		check(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, name, "speed"), []byte(speed), 0o644))
	}
	if got := fastestLink(dir); got != 25_000_000_000 {
		t.Error(got)
	}
	if got := fastestLink(filepath.Join(dir, "none")); got != 0 {
		t.Error(got)
	}
}
