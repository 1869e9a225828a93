package agent

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// A push from its beginning to its end.
func TestAPush(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 40*testBlock+5)
	g := p.begin(r)
	p.sendManifest(r, g)
	g.Notify(member.Event{Epoch: 1, Kind: member.FirstBlock, Stream: 1})
	for block := range p.content {
		p.deliver(t, g, manifest.ContentStream, block)
	}
	g.Notify(member.Event{Epoch: 1, Kind: member.Completed, Stream: 1})
	s := p.await(r, control.PhaseComplete)
	if s.Have != 41 || s.Blocks != 41 || s.Sent != 7 || len(s.Hops) != 1 || s.Received == 0 || s.FirstByte == 0 || s.Disk.Bytes != 40*testBlock+5 || s.Examined != 1 || s.ToExamine != 2 {
		t.Errorf("%+v", s)
	}
	finish := control.Finish{ID: p.id, Closing: p.closing()}
	done := must[control.Finished](r, control.MethodFinish, finish)
	d := r.disk.of(p.id)
	<-d.kept
	if again := must[control.Finished](r, control.MethodFinish, finish); again.Written != 1 || !bytes.Equal(again.Root, done.Root) || len(done.Root) != 32 {
		t.Errorf("%+v, and when asked again %+v", done, again)
	}
	if !d.isCommitted || !bytes.Equal(bytes.Join(p.content, nil), joined(d)) {
		t.Error("something else has arrived")
	}
	if !r.last().isClosed || r.agent.blocks.used() != 0 || r.agent.pages.used() != 0 {
		t.Error("something was not given back")
	}
	must[control.Empty](r, control.MethodAbort, control.Abort{ID: p.id})
	must[control.Empty](r, control.MethodAbort, control.Abort{ID: p.id})
	if r.agent.openPushes() != 0 {
		t.Error("a push is open")
	}
}

func joined(d *fakeDelivery) (all []byte) {
	for block := range d.Content().Blocks() {
		all = append(all, d.content[block]...)
	}
	return all
}

// A block is passed on and kept only if its page is signed and its payload fits.
func TestBadBlocks(t *testing.T) {
	r := newRig(t, Config{})
	p, other := newPlay(r, 3*testBlock), newPlay(r, 3*testBlock)
	g := p.begin(r)
	l, _ := p.layout(manifest.ContentStream)
	wrong := p.wire(manifest.ContentStream, 1)
	wrong[len(wrong)-1] ^= 1
	for name, wire := range map[string][]byte{
		"payload": wrong, "signature": other.wire(manifest.ContentStream, 1), "place": p.wire(manifest.ManifestStream, 0),
		"short": p.wire(manifest.ContentStream, 1)[:100], "none": nil,
	} {
		if err := g.Blocks.Check(l, 1, wire); err == nil || troubleOf(err).Class != control.Integrity {
			t.Errorf("%s: %v", name, err)
		}
	}
	probe := manifest.NewLayout(manifest.ProbeStream, 5, testBlock)
	if g.Blocks.Check(probe, 0, nil) == nil || g.Blocks.Fetch(probe, 0, nil) == nil || g.Blocks.FillPage(l, 0, nil) == nil {
		t.Error("a probe is checked, or an agent is a root")
	}
}

// What is on disk already is not sent again; what is sent from here is what was written.
func TestResume(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 20*testBlock)
	r.disk.had = map[int]manifest.Hash{0: p.hashes[0], 17: p.hashes[17], 3: {1}}
	g := p.begin(r)
	p.sendManifest(r, g)
	if s := p.await(r, control.PhaseReady); s.Candidates != 3 {
		t.Errorf("%+v", s)
	}
	must[control.Empty](r, control.MethodEnd, control.End{ID: p.id, Epoch: 1})
	must[control.Empty](r, control.MethodPages, control.Pages{ID: p.id, First: 0, Pages: [][]byte{p.page(manifest.ContentStream, 0)}})
	must[control.Empty](r, control.MethodPages, control.Pages{ID: p.id, First: 1, Pages: [][]byte{p.page(manifest.ContentStream, 1)}, Last: true})
	set := must[control.Have](r, control.MethodHave, control.HaveRequest{ID: p.id})
	have, err := schedule.ParseSet(set.Set, 20)
	check(t, err)
	if have.Count() != 2 || !have.Has(0) || !have.Has(17) {
		t.Errorf("%d blocks are there", have.Count())
	}
	plan := p.plan()
	full, err := schedule.FullSet(20).AppendBinary(nil)
	check(t, err)
	plan.Stream, plan.Finish, plan.Have = manifest.ContentStream, true, [][]byte{full, set.Set}
	g = p.form(r, 2, plan)
	for block := range 20 {
		if !have.Has(block) {
			p.deliver(t, g, manifest.ContentStream, block)
		}
	}
	l, _ := p.layout(manifest.ContentStream)
	into := make([]byte, l.Wire())
	check(t, g.Blocks.Fetch(l, 5, into))
	if !bytes.Equal(into, p.wire(manifest.ContentStream, 5)) {
		t.Error("another block is sent")
	}
	g.Notify(member.Event{Epoch: 2, Kind: member.Completed, Stream: 0})
	p.await(r, control.PhaseComplete)
	must[control.Finished](r, control.MethodFinish, control.Finish{ID: p.id, Closing: p.closing()})
}

// A disk that gives back something else is not believed: the push fails here, not where it would be sent to.
func TestADiskThatForgets(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 3*testBlock)
	g := p.begin(r)
	p.deliver(t, g, manifest.ContentStream, 0, 1, 2)
	r.disk.of(p.id).content[1][0] ^= 1
	l, _ := p.layout(manifest.ContentStream)
	into := make([]byte, l.Wire())
	check(t, g.Blocks.Fetch(l, 0, into))
	if g.Blocks.Fetch(l, 1, into) == nil {
		t.Error("a wrong block is sent")
	}
	s := must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id})
	wantTrouble(t, s.Error, control.Integrity, "look after the disk")
}

// A full disk ends the push here, and its pusher hears why.
func TestAFullDisk(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 3*testBlock)
	g := p.begin(r)
	r.disk.broken = syscall.ENOSPC
	l, _ := p.layout(manifest.ContentStream)
	if err := g.Blocks.Keep(l, 0, p.wire(manifest.ContentStream, 0)); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	<-r.disk.of(p.id).kept
	s := must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id})
	if s.Phase != control.PhaseFailed {
		t.Errorf("%+v", s)
	}
	wantTrouble(t, s.Error, control.Preflight, "no space left")
	_, err := ask[control.Formed](r, r.caller, control.MethodForm, control.Form{ID: p.id, Epoch: 2, Plan: p.plan(), Rank: 1})
	wantTrouble(t, err, control.Preflight, "no space left")
}

// Nothing is committed that is not whole, or not what the pusher has signed.
func TestNothingWrongIsCommitted(t *testing.T) {
	r := newRig(t, Config{})
	p, other := newPlay(r, 3*testBlock), newPlay(r, 3*testBlock)
	g := p.begin(r)
	finish := func(closing []byte) error {
		_, err := ask[control.Finished](r, r.caller, control.MethodFinish, control.Finish{ID: p.id, Closing: closing})
		return err
	}
	p.sendManifest(r, g)
	p.deliver(t, g, manifest.ContentStream, 0, 2)
	wantTrouble(t, finish(p.closing()), control.Other, "2 of 3 blocks are here")
	p.deliver(t, g, manifest.ContentStream, 1)
	wantTrouble(t, finish(other.closing()), control.Integrity, "signature")
	wantTrouble(t, finish(p.signer.SealClosing(manifest.Closing{})), control.Integrity, "other files")
	p.hashes[1][0] ^= 1
	wantTrouble(t, finish(p.closing()), control.Integrity, "has the root")
	if r.disk.of(p.id).isCommitted {
		t.Error("it was committed")
	}
}

// A group that says that all is here when it is not ends the push.
func TestAGroupThatLies(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 3*testBlock)
	g := p.begin(r)
	p.sendManifest(r, g)
	g.Notify(member.Event{Epoch: 1, Kind: member.Completed, Stream: 1})
	s := must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id})
	wantTrouble(t, s.Error, control.Integrity, "0 of 3")
}

// Different files that are there already end a push without force.
func TestConflicts(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	p.sendManifest(r, p.begin(r))
	r.disk.conflict = errors.New("another file is there")
	_, err := ask[control.Empty](r, r.caller, control.MethodPages, control.Pages{ID: p.id, Pages: [][]byte{p.page(manifest.ContentStream, 0)}, Last: true})
	wantTrouble(t, err, control.Other, "another file")
}

// A push that only compares names what differs, and commits nothing.
func TestVerify(t *testing.T) {
	for _, differs := range []error{nil, errors.New("another file is there")} {
		r := newRig(t, Config{})
		p := newPlay(r, testBlock)
		p.order.Verify = true
		p.sendManifest(r, p.begin(r))
		r.disk.conflict = differs
		_, err := ask[control.Finished](r, r.caller, control.MethodFinish, control.Finish{ID: p.id, Closing: p.closing()})
		wantTrouble(t, err, control.Other, "not compared")
		must[control.Empty](r, control.MethodPages, control.Pages{ID: p.id, Pages: [][]byte{p.page(manifest.ContentStream, 0)}, Last: true})
		done, err := ask[control.Finished](r, r.caller, control.MethodFinish, control.Finish{ID: p.id, Closing: p.closing()})
		if differs != nil {
			wantTrouble(t, err, control.Integrity, "missing: a; different: b; and 1 more")
		} else if err != nil || done.Skipped != 1 {
			t.Errorf("%+v: %v", done, err)
		}
		if r.disk.of(p.id).isCommitted {
			t.Error("it was committed")
		}
	}
}
