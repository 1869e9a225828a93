package agent

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// source is the blocks of a push at its root: member.Blocks.
type source struct{ *play }

func (s source) Check(manifest.Layout, int, []byte) error {
	return fmt.Errorf("a root receives nothing")
}
func (s source) Keep(manifest.Layout, int, []byte) error {
	return fmt.Errorf("a root receives nothing")
}

func (s source) Fetch(l manifest.Layout, block int, into []byte) error {
	copy(into, s.wire(l.Stream, block))
	return nil
}

func (s source) FillPage(l manifest.Layout, page int, into [][]byte) error {
	first, _ := l.PageRange(page)
	for i := range into {
		copy(into[i], s.wire(l.Stream, first+i))
	}
	return nil
}

// stage is a real agent and a real pusher on one host.
type stage struct {
	t      *testing.T
	root   string
	stop   func() error
	caller *caller
	owner  *keys.Bundle
	play   *play
	crew   *member.Member
	events chan member.Event
}

// newStage starts an agent whose pusher has opened a push to dest.
func newStage(t *testing.T, size int) *stage {
	t.Helper()
	return newStageAt(t, size, 0)
}

// newStageAt is newStage with a pusher that sends at a rate.
func newStageAt(t *testing.T, size int, rate uint64) *stage {
	t.Helper()
	c := newCluster(t)
	s := &stage{t: t, root: t.TempDir(), events: make(chan member.Event, 16)}
	_, own := c.issue("node1", control.RoleAgent, "agent/node1")
	bundle, ring := c.issue("ops", control.RolePusher)
	place := openPlace(t, way.Config{Listen: "127.0.0.1:0", Keys: own})
	s.stop = start(t, func(ctx context.Context, ready func()) error {
		return Run(ctx, Config{Place: place, Keys: own, Root: s.root, Ready: ready, Lease: time.Minute})
	})
	s.caller = newCaller(t, ring, place.Address())
	s.owner, s.play = bundle, inventPush(t, bundle, size)
	s.play.order.Dest, s.play.order.Single = "file", true
	s.hire(rate)
	return s
}

// hire makes the pusher's end of groups, as an agent makes its own.
func (s *stage) hire(rate uint64) {
	s.t.Helper()
	hired, err := enlistAt(s.caller.Place, slog.New(slog.DiscardHandler))(s.play.id, wish{way: "tcp", rate: rate, memory: 4 << 20})
	check(s.t, err)
	s.crew = hired.(withDevice).Member
	s.t.Cleanup(func() { check(s.t, hired.Close()) })
}

// told is a call that goes well.
func told[A any](s *stage, method string, request any) A {
	s.t.Helper()
	a, err := call[A](s.caller, method, request)
	check(s.t, err)
	return a
}

// begin brings a group so far that the root may send.
func (s *stage) begin(epoch int, plan control.Plan, streams ...manifest.Layout) {
	s.t.Helper()
	ours, err := s.crew.Form(member.Group{Plan: plan, Epoch: epoch, Streams: streams, Blocks: source{s.play}, Notify: func(e member.Event) { s.events <- e }})
	check(s.t, err)
	theirs := told[control.Formed](s, control.MethodForm, control.Form{ID: s.play.id, Epoch: epoch, Plan: plan, Rank: 1})
	connected := make(chan error, 1)
	go func() { connected <- s.crew.Connect(patient(s.t), control.Addresses{1: theirs.Addresses[0]}) }()
	told[control.Empty](s, control.MethodConnect, control.Connect{ID: s.play.id, Epoch: epoch, Addresses: control.Addresses{0: ours.Addresses[1]}})
	check(s.t, <-connected)
	told[control.Empty](s, control.MethodBegin, control.Begin{ID: s.play.id, Epoch: epoch})
	check(s.t, s.crew.Begin(patient(s.t)))
}

// await polls until the agent is in a phase.
func (s *stage) await(phase control.Phase) (now control.Status) {
	s.t.Helper()
	for now.Phase != phase {
		now = told[control.Status](s, control.MethodStatus, control.StatusRequest{ID: s.play.id, Seen: now.Change, Wait: int64(time.Second)})
		if now.Phase == control.PhaseFailed || now.GroupFailed != nil {
			s.t.Fatalf("%+v %+v", now.Error, now.GroupFailed)
		}
	}
	return now
}

// open opens the push, and has the manifest arrive.
func (s *stage) open() control.Opened {
	s.t.Helper()
	opened := told[control.Opened](s, control.MethodOpen, s.play.order)
	list, _ := s.play.layout(manifest.ManifestStream)
	content, _ := s.play.layout(manifest.ContentStream)
	s.begin(1, s.play.plan(), list, content)
	check(s.t, s.crew.Send(patient(s.t), 0))
	return opened
}

// endGroup ends the group at both ends.
func (s *stage) endGroup(epoch int) {
	s.t.Helper()
	told[control.Empty](s, control.MethodEnd, control.End{ID: s.play.id, Epoch: epoch})
	check(s.t, s.crew.End(patient(s.t)))
}

// arrived fails unless the file is there, and nothing else.
func (s *stage) arrived() {
	s.t.Helper()
	got, err := os.ReadFile(filepath.Join(s.root, "file"))
	if err != nil || !bytes.Equal(got, bytes.Join(s.play.content, nil)) {
		s.t.Errorf("something else has arrived: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.root, ".weft", "partial", "*")); len(left) > 0 {
		s.t.Errorf("%v was left", left)
	}
}

// A file arrives: over real connections, on a real disk.
func TestRealPush(t *testing.T) {
	s := newStage(t, 100*testBlock+17)
	s.open()
	if now := s.await(control.PhaseReady); now.Candidates != 0 {
		t.Errorf("%+v", now)
	}
	check(t, s.crew.Send(patient(t), 1))
	if now := s.await(control.PhaseComplete); now.Have != 101 || now.Received == 0 {
		t.Errorf("%+v", now)
	}
	done := told[control.Finished](s, control.MethodFinish, control.Finish{ID: s.play.id, Closing: s.play.closing()})
	if done.Written != 1 || done.Skipped != 0 {
		t.Errorf("%+v", done)
	}
	s.arrived()
	check(t, s.crew.End(patient(t)))
}

// A crew sends no faster than it was made for. Half of the time is for what may go at once.
func TestRateOfACrew(t *testing.T) {
	const rate, size = 2 << 20, 1 << 20
	s := newStageAt(t, size, rate)
	s.open()
	s.await(control.PhaseReady)
	began := time.Now()
	check(t, s.crew.Send(patient(t), 1))
	s.await(control.PhaseComplete)
	if took := time.Since(began); took < time.Second*size/rate/2 {
		t.Errorf("%d bytes have come in %v, at %d a second", size, took, rate)
	}
	check(t, s.crew.End(patient(t)))
}

// A push that was aborted half-way is finished by another one, and only what is missing is sent.
func TestRealResume(t *testing.T) {
	s := newStage(t, 40*testBlock)
	s.open()
	s.await(control.PhaseReady)
	s.endGroup(1)
	full, err := schedule.FullSet(40).AppendBinary(nil)
	check(t, err)
	pages := func(n int) (list [][]byte) {
		for page := range n {
			list = append(list, s.play.page(manifest.ContentStream, page))
		}
		return list
	}
	content, _ := s.play.layout(manifest.ContentStream)
	have := told[control.Have](s, control.MethodHave, control.HaveRequest{ID: s.play.id})
	plan := s.play.plan()
	plan.Stream, plan.Finish, plan.Have = manifest.ContentStream, true, [][]byte{full, have.Set}
	s.begin(2, plan, content)
	s.await(control.PhaseComplete)
	s.endGroup(2)
	told[control.Empty](s, control.MethodAbort, control.Abort{ID: s.play.id})

	if opened := s.open(); !opened.Partial {
		t.Error("the partial is not found")
	}
	if now := s.await(control.PhaseReady); now.Candidates != 40 {
		t.Errorf("%+v", now)
	}
	s.endGroup(1)
	told[control.Empty](s, control.MethodPages, control.Pages{ID: s.play.id, Pages: pages(content.Pages()), Last: true})
	if now := s.await(control.PhaseComplete); now.Have != 40 {
		t.Errorf("%+v", now)
	}
	told[control.Finished](s, control.MethodFinish, control.Finish{ID: s.play.id, Closing: s.play.closing()})
	s.arrived()
}

// The second push to a path hears of the first: who, which and since when.
func TestRealSecondPush(t *testing.T) {
	s := newStage(t, testBlock)
	told[control.Opened](s, control.MethodOpen, s.play.order)
	other := inventPush(t, s.owner, testBlock)
	other.order.Dest, other.order.Single = s.play.order.Dest, true
	_, err := call[control.Opened](s.caller, control.MethodOpen, other.order)
	wantTrouble(t, err, control.Preflight, s.play.id.String())
	wantTrouble(t, err, control.Preflight, "ops on desk")
	greeting := told[control.Greeting](s, control.MethodHello, control.Hello{Version: control.Version})
	if len(greeting.Pushes) != 1 || greeting.Pushes[0].ID != s.play.id.String() || greeting.Pushes[0].Owner != "ops on desk" {
		t.Errorf("%+v", greeting.Pushes)
	}
}

// What was delivered before the agent is stopped stays, and the next agent goes on from there.
func TestRealStop(t *testing.T) {
	s := newStage(t, 40*testBlock)
	s.open()
	s.await(control.PhaseReady)
	check(t, s.crew.Send(patient(t), 1))
	s.await(control.PhaseComplete)
	check(t, s.stop())
	if left, _ := filepath.Glob(filepath.Join(s.root, ".weft", "partial", "*")); len(left) != 1 {
		t.Errorf("%v was left", left)
	}
	if _, err := os.Stat(filepath.Join(s.root, "file")); err == nil {
		t.Error("it has its name, and was not finished")
	}
}
