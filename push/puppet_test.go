package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/verbs"
)

// puppet is an agent that does what a test wants: it has no disk, passes on other blocks than it has received, or is slow.
type puppet struct {
	lies    bool
	rate    uint64        // bytes a second that it sends; 0: what the plan says
	refuses string        // method that it answers with an error
	hangs   chan struct{} // blocks are kept only when this is closed; nil: at once
	commits chan struct{} // it commits only when this is closed; nil: at once
	isFull  bool          // it says that all the time no memory is free, because blocks are to be kept
	wire    *way.Place

	says  func(rank, members int) *control.GroupFailed // how it says that every group has ended; nil: as it is
	holds func() int                                   // how many blocks it admits to hold; nil: all that it has

	mu     sync.Mutex
	open   control.Open
	device *verbs.Device
	member *member.Member
	place  control.Form // in the group
	status control.Status
	formed time.Time      // the last group
	kept   map[int][]byte // blocks of the content: header and payload
}

// Check changes a byte of what is passed on, if the puppet lies.
func (p *puppet) Check(l manifest.Layout, _ int, wire []byte) error {
	if p.lies && l.Stream == manifest.ContentStream {
		wire[len(wire)-1] ^= 1
	}
	return nil
}

func (p *puppet) Keep(l manifest.Layout, block int, wire []byte) error {
	if l.Stream == manifest.ContentStream && p.hangs != nil {
		<-p.hangs
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.Stream == manifest.ContentStream {
		p.kept[block] = append([]byte(nil), wire...)
	}
	return nil
}

func (p *puppet) Fetch(_ manifest.Layout, block int, into []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	copy(into, p.kept[block])
	return nil
}

func (p *puppet) FillPage(manifest.Layout, int, [][]byte) error { return nil }

// refuse has it answer a method with an error from now on, if it is to.
func (p *puppet) refuse(should bool, method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if should {
		p.refuses = method
	}
}

func (p *puppet) refused() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuses
}

// limit is the rate at which it sends: where a test has not said it, that of the plan.
func (p *puppet) limit() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rate
}

// heard is told what happens in its group.
func (p *puppet) heard(e member.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Change++
	switch {
	case e.Kind == member.Completed && p.status.Phase == control.PhaseOpen:
		p.status.Phase = control.PhaseReady
	case e.Kind == member.Completed:
		p.status.Phase = control.PhaseComplete
	case e.Kind == member.Failed:
		p.status.GroupFailed = e.Failed
	}
}

// replace has a puppet take the place of an agent.
func (c *cluster) replace(n *node, p *puppet) {
	c.t.Helper()
	n.kill(c.t)
	p.status.Phase, p.kept = control.PhaseOpen, make(map[int][]byte)
	var err error
	if p.wire, err = way.Open(way.Config{Listen: "127.0.0.1:0", Keys: n.ring}); err != nil {
		c.t.Fatal(err)
	}
	n.place = p.wire
	service, err := p.wire.Node().Register(context.Background(), control.Service(n.name))
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.Serve(ctx, 8, p.handle) }()
	c.t.Cleanup(func() {
		stop()
		<-served
		p.close(c.t)
	})
}

func (p *puppet) close(t *testing.T) {
	if p.member != nil {
		if err := p.member.Close(); err != nil {
			t.Error(err)
		}
		if err := p.device.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := p.wire.Close(); err != nil {
		t.Error(err)
	}
}

func (p *puppet) handle(ctx context.Context, m *ripc.Message) error {
	text := append([]byte(nil), m.Items()[len(m.Items())-1]...)
	if len(m.Lent()) > 0 {
		list, err := m.Pull(ctx)
		if err != nil {
			return err
		}
		text = append([]byte(nil), list[0].Bytes()...)
		list[0].Release()
	}
	answer, err := p.do(ctx, string(m.Items()[0]), text)
	full := map[string]any{"ok": answer}
	if err != nil {
		full = map[string]any{"error": control.Trouble{Class: control.Other, Text: err.Error()}}
	}
	out, err := json.Marshal(full)
	if err != nil {
		return err
	}
	return m.Answer(ctx, out)
}

func (p *puppet) do(ctx context.Context, method string, text []byte) (any, error) {
	switch method {
	case p.refused():
		return nil, errors.New("the puppet does not want to")
	case control.MethodHello:
		return control.Greeting{Version: control.Version, Ways: []string{"tcp"}, Memory: control.MemoryBudget}, nil
	case control.MethodOpen:
		return control.Opened{}, json.Unmarshal(text, &p.open)
	case control.MethodForm:
		return p.form(text)
	case control.MethodConnect:
		var q control.Connect
		if err := json.Unmarshal(text, &q); err != nil {
			return nil, err
		}
		if err := p.member.Connect(ctx, q.Addresses); err != nil || !q.Begin {
			return control.Empty{}, err
		}
		return control.Empty{}, p.member.Begin(ctx)
	case control.MethodBegin:
		return control.Empty{}, p.member.Begin(ctx)
	case control.MethodStatus:
		return p.tell(), nil
	case control.MethodHave:
		return p.have()
	case control.MethodEnd:
		return control.Empty{}, p.member.End(ctx)
	case control.MethodFinish:
		if p.commits != nil {
			<-p.commits
		}
		return p.finish(), nil
	}
	return control.Empty{}, nil
}

func (p *puppet) tell() control.Status {
	p.mu.Lock()
	s, m := p.status, p.member
	s.Have = len(p.kept)
	if p.says != nil && s.Epoch > 0 {
		s.GroupFailed = p.says(p.place.Rank, len(p.place.Plan.Members))
	}
	if p.isFull && s.Epoch > 0 {
		s.Disk.Full = int64(time.Since(p.formed))
	}
	p.mu.Unlock()
	if m != nil {
		s.Hops = m.Stats().Hops
	}
	return s
}

func (p *puppet) content() manifest.Layout {
	return manifest.NewLayout(manifest.ContentStream, p.open.Manifest.Content, p.open.Block)
}

func (p *puppet) have() (control.Have, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := schedule.NewSet(p.content().Blocks())
	most := set.Len()
	if p.holds != nil {
		most = p.holds()
	}
	for block := range p.kept {
		if !p.lies && block < most {
			set.Add(block)
		}
	}
	b, err := set.AppendBinary(nil)
	return control.Have{Set: b}, err
}

// finish says which root its blocks have.
func (p *puppet) finish() control.Finished {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.content()
	root := manifest.NewRoot(p.open.Manifest.Hash, l)
	for block := range l.Blocks() {
		root.Add(manifest.HashOf(p.kept[block][l.Header():]))
	}
	sum := root.Sum()
	return control.Finished{Written: 1, Root: sum[:]}
}

func (p *puppet) form(text []byte) (formed control.Formed, err error) {
	var q control.Form
	if err := json.Unmarshal(text, &q); err != nil {
		return formed, err
	}
	streams := []manifest.Layout{manifest.NewLayout(manifest.ManifestStream, p.open.Manifest.Size, p.open.Block), p.content()}
	if q.Plan.Finish {
		streams = streams[1:]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.member == nil {
		if p.rate == 0 {
			p.rate = q.Plan.Rate
		}
		if p.device, err = p.wire.Device(q.ID, q.Plan.Way, q.Plan.Plain, p.rate); err != nil {
			return formed, err
		}
		if p.member, err = member.Open(member.Config{Device: p.device, Memory: 2 * member.MemoryNeeded(q.Plan, p.content())}); err != nil {
			return formed, err
		}
	}
	p.place, p.formed = q, time.Now()
	p.status.Epoch, p.status.GroupFailed = q.Epoch, nil
	return p.member.Form(member.Group{Plan: q.Plan, Rank: q.Rank, Epoch: q.Epoch, Streams: streams, Blocks: p, Notify: p.heard})
}
