package agent

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// requests are one of each kind about a push.
func (p *play) requests(epoch int) map[string]any {
	return map[string]any{
		control.MethodHello:   control.Hello{Version: control.Version, Weft: "test"},
		control.MethodForm:    control.Form{ID: p.id, Epoch: epoch, Plan: p.plan(), Rank: 1},
		control.MethodConnect: control.Connect{ID: p.id, Epoch: epoch, Addresses: control.Addresses{0: {"there"}}},
		control.MethodBegin:   control.Begin{ID: p.id, Epoch: epoch},
		control.MethodStatus:  control.StatusRequest{ID: p.id},
		control.MethodPages:   control.Pages{ID: p.id, Pages: [][]byte{p.page(manifest.ContentStream, 0)}, Last: true},
		control.MethodHave:    control.HaveRequest{ID: p.id},
		control.MethodEnd:     control.End{ID: p.id, Epoch: epoch},
		control.MethodFinish:  control.Finish{ID: p.id, Closing: p.closing()},
		control.MethodAbort:   control.Abort{ID: p.id},
		control.MethodOpen:    p.order,
	}
}

// say makes a call of which only the error is of interest.
func (r *rig) say(method string, request any) error {
	text, err := json.Marshal(request)
	check(r.t, err)
	_, err = r.perform(patient(r.t), r.caller, method, text)
	return err
}

// Every method at a time when it makes no sense is an error, and changes nothing.
func TestEveryMethodOutOfOrder(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 3*testBlock)
	wrong := func(when string, epoch int, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := r.say(name, p.requests(epoch)[name]); err == nil {
				t.Errorf("%s: %s is no error", when, name)
			}
		}
	}
	const form, connect, begin, pages, finish = control.MethodForm, control.MethodConnect, control.MethodBegin, control.MethodPages, control.MethodFinish
	wrong("before it was opened", 1, form, connect, begin, control.MethodStatus, pages, control.MethodHave, control.MethodEnd, finish)
	must[control.Opened](r, control.MethodOpen, p.order)
	wrong("without a group", 1, connect, begin, pages, finish)
	must[control.Formed](r, form, p.requests(1)[form])
	wrong("a second group", 2, form)
	wrong("not connected", 1, begin, form)
	wrong("another group", 2, connect, begin)
	must[control.Empty](r, connect, p.requests(1)[connect])
	wrong("connected", 1, connect)
	must[control.Empty](r, begin, p.requests(1)[begin])
	wrong("begun", 1, begin, connect, form, pages, finish)
	must[control.Empty](r, control.MethodEnd, p.requests(2)[control.MethodEnd])
	wrong("an end of another group", 2, form)
	must[control.Empty](r, control.MethodEnd, p.requests(1)[control.MethodEnd])
	must[control.Empty](r, control.MethodEnd, p.requests(1)[control.MethodEnd])
	wrong("ended", 1, form, connect, begin)
	plan := p.plan()
	full, err := schedule.FullSet(3).AppendBinary(nil)
	check(t, err)
	plan.Finish, plan.Stream, plan.Have = true, manifest.ContentStream, [][]byte{full, full}
	if err := r.say(form, control.Form{ID: p.id, Epoch: 2, Plan: plan, Rank: 1}); err == nil {
		t.Error("the content can be finished without a manifest")
	}
	must[control.Empty](r, control.MethodAbort, p.requests(1)[control.MethodAbort])
	wrong("aborted", 2, form, connect, begin, pages, finish)
}

// Where nobody but the root has anything to send, who is connected begins without another call.
func TestConnectedAndBegun(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	must[control.Opened](r, control.MethodOpen, p.order)
	must[control.Formed](r, control.MethodForm, p.requests(1)[control.MethodForm])
	must[control.Empty](r, control.MethodConnect, control.Connect{ID: p.id, Epoch: 1, Addresses: control.Addresses{0: {"there"}}, Begin: true})
	if err := r.say(control.MethodBegin, p.requests(1)[control.MethodBegin]); err == nil {
		t.Error("it has begun, and is told to once more")
	}
	p.sendManifest(r, r.last().group)
	if calls := r.last().calls; !slices.Equal(calls, []string{"form", "connect", "begin"}) {
		t.Errorf("its end of the group did %v", calls)
	}
}

// Plans that this agent cannot follow.
func TestPlansThatAreRefused(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 20*testBlock)
	p.sendManifest(r, p.begin(r))
	must[control.Empty](r, control.MethodEnd, control.End{ID: p.id, Epoch: 1})
	full, err := schedule.FullSet(20).AppendBinary(nil)
	check(t, err)
	none, err := schedule.NewSet(20).AppendBinary(nil)
	check(t, err)
	for name, c := range map[string]struct {
		change func(*control.Form)
		class  control.Class
		says   string
	}{
		"plain":      {func(q *control.Form) { q.Plan.Plain = true }, control.Preflight, "--plain"},
		"way":        {func(q *control.Form) { q.Plan.Way = "ibv" }, control.Preflight, `"ibv"`},
		"no rank":    {func(q *control.Form) { q.Rank = 2 }, control.Other, "rank"},
		"the root's": {func(q *control.Form) { q.Rank = 0 }, control.Other, "rank"},
		"old":        {func(q *control.Form) { q.Epoch = 1 }, control.Other, ""},
		"probe":      {func(q *control.Form) { q.Plan.Stream = manifest.ProbeStream }, control.Other, ""},
		"too much":   {func(q *control.Form) { q.Plan.Have = [][]byte{full, full} }, control.Other, "block 0 is not here"},
		"no sets":    {func(q *control.Form) { q.Plan.Have = nil }, control.Other, ""},
		"no set":     {func(q *control.Form) { q.Plan.Have = [][]byte{full, {1}} }, control.Other, ""},
	} {
		q := control.Form{ID: p.id, Epoch: 2, Plan: p.plan(), Rank: 1}
		q.Plan.Finish, q.Plan.Stream, q.Plan.Have = true, manifest.ContentStream, [][]byte{full, none}
		c.change(&q)
		t.Run(name, func(t *testing.T) {
			_, err := ask[control.Formed](r, r.caller, control.MethodForm, q)
			wantTrouble(t, err, c.class, c.says)
		})
	}
}

// Who ends a group that others wait for ends their waiting.
func TestAnEndThatInterruptsConnecting(t *testing.T) {
	r := newRig(t, Config{})
	r.crew.waits, r.crew.entered = true, make(chan struct{})
	p := newPlay(r, testBlock)
	must[control.Opened](r, control.MethodOpen, p.order)
	must[control.Formed](r, control.MethodForm, p.requests(1)[control.MethodForm])
	connected := make(chan error, 1)
	go func() { connected <- r.say(control.MethodConnect, p.requests(1)[control.MethodConnect]) }()
	<-r.crew.entered
	must[control.Empty](r, control.MethodEnd, control.End{ID: p.id, Epoch: 1})
	if err := <-connected; err == nil {
		t.Error("it was connected")
	}
	r.last().waits = false
	p.form(r, 2, p.plan())
}

// What an old group says late is not heard.
func TestNewsOfAnOldGroup(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	g := p.begin(r)
	g.Notify(member.Event{Epoch: 1, Kind: member.Failed, Failed: &control.GroupFailed{Rank: 0, Cause: "gone"}})
	if s := must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id}); s.GroupFailed == nil || s.Epoch != 1 {
		t.Errorf("%+v", s)
	}
	must[control.Empty](r, control.MethodEnd, control.End{ID: p.id, Epoch: 1})
	p.form(r, 2, p.plan())
	g.Notify(member.Event{Epoch: 1, Kind: member.Failed, Failed: &control.GroupFailed{Rank: 0, Cause: "gone"}})
	if s := must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id}); s.GroupFailed != nil || s.Epoch != 2 {
		t.Errorf("%+v", s)
	}
}

// Whatever comes instead of a request, an agent says what is wrong with it; and goes on.
func FuzzRequests(f *testing.F) {
	r := newRig(f, Config{})
	p := newPlay(r, 3*testBlock)
	for name, q := range p.requests(1) {
		text, err := json.Marshal(q)
		check(f, err)
		f.Add(name, text)
		f.Add(name, text[:len(text)/2])
	}
	f.Add("", []byte("{}"))
	f.Add(control.MethodStatus, []byte(`{"id":"00","wait_ns":-1}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		r.t = t
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nobody waits
		if r.agent.openPushes() == 0 {
			must[control.Opened](r, control.MethodOpen, p.order)
		}
		answer, err := r.perform(ctx, r.caller, name, text)
		if err == nil && answer == nil {
			t.Error("it is answered with nothing")
		}
		if err != nil && troubleOf(err).Text == "" {
			t.Errorf("%#v says nothing", err)
		}
	})
}
