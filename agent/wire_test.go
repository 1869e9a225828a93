package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/static"
)

func openPlace(t *testing.T, c way.Config) *way.Place {
	t.Helper()
	p, err := way.Open(c)
	check(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// serve has the agent of a rig serve at a place of its own, until the returned function stops it.
func (r *rig) serve(t *testing.T) (address string, stop func() error) {
	t.Helper()
	place := openPlace(t, way.Config{Listen: "127.0.0.1:0", Keys: r.agent.config.Keys})
	r.agent.config.Place = place
	return place.Address(), start(t, func(ctx context.Context, ready func()) error {
		r.agent.config.Ready = ready
		return r.agent.run(ctx)
	})
}

// start starts an agent, and waits until it is ready.
func start(t *testing.T, run func(ctx context.Context, ready func()) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("it has ended: %v", err)
	}
	hasStopped := false
	stop = func() error {
		if hasStopped {
			return nil
		}
		hasStopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() { check(t, stop()) })
	return stop
}

// caller is a process that calls an agent.
type caller struct {
	*way.Place
	t  *testing.T
	to ripc.ID
}

func newCaller(t *testing.T, ring *keys.Keyring, address string) *caller {
	t.Helper()
	name := control.Service("node1")
	table, err := static.New(map[string][]string{name: {address}})
	check(t, err)
	t.Cleanup(func() { check(t, table.Close()) })
	return &caller{openPlace(t, way.Config{Keys: ring, Resolver: table}), t, ripc.Name(name)}
}

// call calls the agent.
func call[A any](c *caller, method string, request any) (a A, err error) {
	c.t.Helper()
	text, err := json.Marshal(request)
	check(c.t, err)
	return decodeAnswer[A](c, c.send([]byte(method), text))
}

// send sends items; one that is too long is lent.
func (c *caller) send(items ...[]byte) *ripc.Message {
	c.t.Helper()
	q := ripc.Request{To: c.to, Items: items}
	if last := items[len(items)-1]; len(last) > 2048 {
		b, err := c.Node().Alloc(len(last))
		check(c.t, err)
		defer b.Release()
		copy(b.Bytes(), last)
		q.Items, q.Lend = items[:len(items)-1], []*ripc.Buffer{b}
	}
	m, err := c.Node().Do(patient(c.t), q)
	check(c.t, err)
	return m
}

func decodeAnswer[A any](c *caller, m *ripc.Message) (a A, err error) {
	c.t.Helper()
	defer m.Release()
	text := m.Bytes()
	if len(m.Lent()) > 0 {
		list, err := m.Pull(patient(c.t))
		check(c.t, err)
		defer list[0].Release()
		text = list[0].Bytes()
	}
	var answer control.Answer[A]
	check(c.t, json.Unmarshal(text, &answer))
	if answer.Error != nil {
		return a, answer.Error
	}
	return *answer.OK, nil
}

// Over the network an agent listens to pushers, and to nobody else.
func TestWhoCalls(t *testing.T) {
	r := newRig(t, Config{})
	address, _ := r.serve(t)
	_, ring := r.cluster.issue("node2", control.RoleAgent, "agent/node2")
	_, err := call[control.Greeting](newCaller(t, ring, address), control.MethodHello, control.Hello{Version: control.Version})
	wantTrouble(t, err, control.Authorization, "only a pusher may push")

	_, ring = r.cluster.issue("ops", control.RolePusher)
	ops := newCaller(t, ring, address)
	g, err := call[control.Greeting](ops, control.MethodHello, control.Hello{Version: control.Version})
	if err != nil || g.Name != "node1" {
		t.Errorf("%+v: %v", g, err)
	}
	p := newPlay(r, testBlock)
	_, err = call[control.Opened](ops, control.MethodOpen, p.order)
	check(t, err)
	_, ring = r.cluster.issue("mallory", control.RolePusher)
	_, err = call[control.Status](newCaller(t, ring, address), control.MethodStatus, control.StatusRequest{ID: p.id})
	wantTrouble(t, err, control.Authorization, "mallory")
}

// Calls that are none are answered with what is wrong with them.
func TestMalformedCalls(t *testing.T) {
	r := newRig(t, Config{})
	address, _ := r.serve(t)
	_, ring := r.cluster.issue("ops", control.RolePusher)
	c := newCaller(t, ring, address)
	for _, items := range [][][]byte{
		{[]byte("hello")}, {[]byte("hello"), []byte("{}"), []byte("{}")}, {[]byte("hello"), nil}, {[]byte("nothing"), []byte("{}")},
		{[]byte("open"), []byte(`{"id":`)}, {[]byte("open"), []byte(`[1]`)}, {[]byte("status"), []byte(`{"id":"zz"}`)},
		{[]byte("form"), []byte(strings.Repeat("[", 100_000))},
	} {
		_, err := decodeAnswer[control.Empty](c, c.send(items...))
		wantTrouble(t, err, control.Other, "request")
	}
	b, err := c.Node().Alloc(control.MaxText + 1)
	check(t, err)
	defer b.Release()
	m, err := c.Node().Do(patient(t), ripc.Request{To: c.to, Items: [][]byte{[]byte("form")}, Lend: []*ripc.Buffer{b}})
	check(t, err)
	_, err = decodeAnswer[control.Empty](c, m)
	wantTrouble(t, err, control.Other, "allowed are")
	if err := c.Node().Post(patient(t), ripc.Request{To: c.to, Items: [][]byte{[]byte("hello"), []byte("{}")}, Idempotent: true}); err == nil {
		t.Error("something that is no call is taken")
	}
}

// What does not fit into a message is lent, both ways.
func TestLongCalls(t *testing.T) {
	r := newRig(t, Config{})
	address, _ := r.serve(t)
	_, ring := r.cluster.issue("ops", control.RolePusher)
	c := newCaller(t, ring, address)
	p := newPlay(r, 40*testBlock)
	g := p.begin(r)
	p.sendManifest(r, g)
	for _, size := range []int{0, 100, 100_000} {
		_, err := decodeAnswer[control.Empty](c, c.send([]byte(control.MethodProbe), make([]byte, size)))
		check(t, err)
	}
	var pages [][]byte
	for page := range 3 {
		pages = append(pages, p.page(manifest.ContentStream, page))
	}
	_, err := call[control.Empty](c, control.MethodPages, control.Pages{ID: p.id, Pages: append(pages[:0:0], pages...), Last: true})
	check(t, err)
	g.Notify(member.Event{Epoch: 1, Kind: member.Failed, Failed: &control.GroupFailed{Cause: strings.Repeat("long ", 4000)}})
	s, err := call[control.Status](c, control.MethodStatus, control.StatusRequest{ID: p.id})
	if err != nil || len(s.GroupFailed.Cause) != 20_000 {
		t.Errorf("%v", err)
	}
	set, err := call[control.Have](c, control.MethodHave, control.HaveRequest{ID: p.id})
	check(t, err)
	if _, err := schedule.ParseSet(set.Set, 40); err != nil {
		t.Error(err)
	}
}

// Who waits for news hears of the stop at once; what has arrived stays.
func TestStop(t *testing.T) {
	r := newRig(t, Config{})
	address, stop := r.serve(t)
	_, ring := r.cluster.issue("ops", control.RolePusher)
	c := newCaller(t, ring, address)
	p := newPlay(r, 2*testBlock)
	g := p.begin(r)
	p.deliver(t, g, manifest.ContentStream, 0)
	now, err := call[control.Status](c, control.MethodStatus, control.StatusRequest{ID: p.id})
	check(t, err)
	heard := make(chan *control.Trouble, 1)
	go func() {
		s, err := call[control.Status](c, control.MethodStatus, control.StatusRequest{ID: p.id, Seen: now.Change, Wait: int64(control.Lease)})
		if err != nil {
			t.Error(err)
		}
		heard <- s.Error
	}()
	for s, _ := r.agent.find(r.caller, p.id); s.lease.pending() == 0; {
		time.Sleep(time.Millisecond)
	}
	check(t, stop())
	wantTrouble(t, <-heard, control.Unreachable, "stopping")
	d := r.disk.of(p.id)
	if !d.isKept() || d.isCommitted || len(d.content) != 1 {
		t.Error("what has arrived is not there")
	}
	_, err = ask[control.Opened](r, r.caller, control.MethodOpen, newPlay(r, testBlock).order)
	wantTrouble(t, err, control.Unreachable, "stopping")
}

// Who commits when the agent is stopped hears that it was, and not that somebody has interrupted the push.
func TestStopDuringACommit(t *testing.T) {
	r := newRig(t, Config{})
	r.disk.committing = make(chan struct{})
	p := newPlay(r, testBlock)
	g := p.begin(r)
	p.sendManifest(r, g)
	p.deliver(t, g, manifest.ContentStream, 0)
	ended := make(chan error, 1)
	go func() {
		_, err := ask[control.Finished](r, r.caller, control.MethodFinish, control.Finish{ID: p.id, Closing: p.closing()})
		ended <- err
	}()
	<-r.disk.committing
	r.agent.stop()
	wantTrouble(t, <-ended, control.Unreachable, "stopping")
}

// A push that ends within the grace is not disturbed.
func TestStopWithGrace(t *testing.T) {
	r := newRig(t, Config{Grace: time.Minute})
	_, stop := r.serve(t)
	p := newPlay(r, testBlock)
	g := p.begin(r)
	p.sendManifest(r, g)
	p.deliver(t, g, manifest.ContentStream, 0)
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for !r.agent.stopping() {
		time.Sleep(time.Millisecond)
	}
	_, err := ask[control.Opened](r, r.caller, control.MethodOpen, newPlay(r, testBlock).order)
	wantTrouble(t, err, control.Unreachable, "stopping")
	must[control.Finished](r, control.MethodFinish, control.Finish{ID: p.id, Closing: p.closing()})
	check(t, <-stopped)
	if !r.disk.of(p.id).isCommitted {
		t.Error("it was not committed")
	}
}

// A name that the certificate does not list cannot be served.
func TestANameOfSomebodyElse(t *testing.T) {
	r := newRig(t, Config{Name: "node7"})
	r.agent.config.Place = openPlace(t, way.Config{Listen: "127.0.0.1:0", Keys: r.agent.config.Keys})
	if err := r.agent.run(t.Context()); !errors.Is(err, ripc.ErrForbidden) {
		t.Error(err)
	}
}
