package member

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// push is what all ends of a push know.
type push struct {
	streams []manifest.Layout
	content [][]byte
	signer  *manifest.Signer
	seen    *manifest.Verifier
}

func newPush(random *rand.Rand, block int, sizes ...int) *push {
	public, private, err := ed25519.GenerateKey(zeros{})
	if err != nil {
		panic(err)
	}
	p := &push{signer: manifest.NewSigner(manifest.ID{1}, private), seen: manifest.NewVerifier(manifest.ID{1}, public)}
	for i, size := range sizes {
		content := make([]byte, size)
		for j := range content {
			content[j] = byte(random.Uint32())
		}
		p.content = append(p.content, content)
		p.streams = append(p.streams, manifest.NewLayout(manifest.Stream(i+1), uint64(size), block))
	}
	return p
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func (p *push) payload(l manifest.Layout, block int) []byte {
	return p.content[l.Stream-1][l.Offset(block):][:l.Len(block)]
}

// header is that of a block, which the root could have made.
func (p *push) header(l manifest.Layout, page int) []byte {
	first, end := l.PageRange(page)
	var hashes []manifest.Hash
	for block := first; block < end; block++ {
		hashes = append(hashes, manifest.HashOf(p.payload(l, block)))
	}
	return p.signer.Seal(l, page, hashes)
}

// disk is an owner of blocks, who keeps them on the heap.
type disk struct {
	*push
	isRoot bool
	slow   time.Duration // that a Keep takes at most, by chance
	refuse func(l manifest.Layout, block int) error
	spoil  func(l manifest.Layout, block int) bool
	full   func(l manifest.Layout, block int) error
	broken error // of FillPage

	mu      sync.Mutex
	pages   []*manifest.Pages
	kept    []map[int][]byte // by stream and block: payload
	filled  [][]int          // by stream: pages, in order
	fetched int
	again   int // blocks that came a second time
	wrong   []string
}

func newDisk(p *push, isRoot bool) *disk {
	d := &disk{push: p, isRoot: isRoot}
	for _, l := range p.streams {
		d.pages = append(d.pages, manifest.NewPages(l, p.seen))
		d.kept = append(d.kept, map[int][]byte{})
	}
	d.filled = make([][]int, len(p.streams))
	return d
}

func (d *disk) Check(l manifest.Layout, block int, wire []byte) error {
	d.mu.Lock()
	hash, err := d.pages[l.Stream-1].Take(block, wire[:l.Header()])
	d.mu.Unlock()
	if err == nil {
		err = manifest.CheckPayload(hash, wire[l.Header():])
	}
	if err == nil && d.refuse != nil {
		err = d.refuse(l, block)
	}
	return err
}

func (d *disk) Keep(l manifest.Layout, block int, wire []byte) error {
	if d.slow > 0 {
		time.Sleep(rand.N(d.slow))
	}
	if d.full != nil {
		if err := d.full(l, block); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept[l.Stream-1][block] != nil {
		d.again++
	}
	d.kept[l.Stream-1][block] = bytes.Clone(wire[l.Header():])
	return nil
}

func (d *disk) Fetch(l manifest.Layout, block int, into []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fetched++
	payload, held := d.kept[l.Stream-1][block]
	header, known := d.pages[l.Stream-1].Header(block)
	if d.isRoot {
		payload, held = d.payload(l, block), true
		header, known = d.header(l, l.Page(block)), true
	}
	if !held || !known || len(into) != l.Header()+len(payload) {
		d.wrong = append(d.wrong, fmt.Sprintf("fetched block %d: held %t, header %t, %d bytes", block, held, known, len(into)))
		return errors.New("not here")
	}
	copy(into, header)
	copy(into[l.Header():], payload)
	d.spoilt(l, block, into)
	return nil
}

func (d *disk) FillPage(l manifest.Layout, page int, into [][]byte) error {
	d.mu.Lock()
	d.filled[l.Stream-1] = append(d.filled[l.Stream-1], page)
	d.mu.Unlock()
	if page > 2 && d.broken != nil {
		return d.broken
	}
	header := d.header(l, page)
	first, end := l.PageRange(page)
	if len(into) != end-first {
		return fmt.Errorf("page %d has %d blocks, not %d", page, end-first, len(into))
	}
	for i, wire := range into {
		copy(wire, header)
		if n := copy(wire[l.Header():], d.payload(l, first+i)); n != len(wire)-l.Header() {
			return fmt.Errorf("block %d has %d bytes, not %d", first+i, n, len(wire)-l.Header())
		}
		d.spoilt(l, first+i, wire)
	}
	return nil
}

func (d *disk) spoilt(l manifest.Layout, block int, wire []byte) {
	if d.spoil != nil && d.spoil(l, block) {
		wire[len(wire)-1] ^= 1
	}
}

// end is one member of a test.
type end struct {
	t       testing.TB
	rank    int // in the present group
	disk    *disk
	blocks  Blocks
	device  *verbs.Device
	member  *Member
	events  chan Event
	history []Event
	gone    bool
}

func newEnd(t testing.TB, d *disk, lanes soft.Lanes, memory int) *end {
	t.Helper()
	nic, err := soft.New(soft.Config{Lanes: lanes})
	check(t, err)
	e := &end{t: t, disk: d, blocks: d, events: make(chan Event, 1000)}
	e.device, err = verbs.Open(nic)
	check(t, err)
	e.member, err = Open(Config{Device: e.device, Memory: memory})
	check(t, err)
	t.Cleanup(e.close)
	return e
}

func (e *end) close() {
	if !e.gone {
		e.gone = true
		check(e.t, e.member.Close())
		check(e.t, e.device.Close())
	}
}

// await waits for an event of a kind.
func (e *end) await(ctx context.Context, kind EventKind, stream int) *Event {
	e.t.Helper()
	for {
		select {
		case event := <-e.events:
			e.history = append(e.history, event)
			if event.Kind == kind && event.Stream == stream {
				return &event
			}
			if event.Kind == Failed {
				return &event
			}
		case <-ctx.Done():
			e.t.Errorf("member %d waits for %d of stream %d in vain: %+v, %+v", e.rank, kind, stream, e.history, e.member.Stats())
			return nil
		}
	}
}

// team is members who form groups.
type team struct {
	t    testing.TB
	push *push
	ends []*end
	ctx  context.Context
	lie  func(rank int, g *Group)
}

func newTeam(t testing.TB, p *push, n int, memory func(rank int) int) *team {
	t.Helper()
	return newTeamOn(t, soft.InProcess, p, n, memory)
}

func newTeamOn(t testing.TB, lanes soft.Lanes, p *push, n int, memory func(rank int) int) *team {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	team := &team{t: t, push: p, ctx: ctx}
	for rank := range n {
		team.ends = append(team.ends, newEnd(t, newDisk(p, rank == 0), lanes, memory(rank)))
	}
	return team
}

// plan is a group of the members that are left.
func (m *team) plan(algorithm schedule.Algorithm) control.Plan {
	plan := control.Plan{Algorithm: algorithm.String()}
	for i := range m.ends {
		plan.Members = append(plan.Members, fmt.Sprint("n", i))
		if algorithm.Racks() {
			plan.Racks = append(plan.Racks, i%3)
		}
	}
	return plan
}

// form forms and connects a group, and lets it begin.
func (m *team) form(plan control.Plan, epoch int, streams []manifest.Layout) {
	m.t.Helper()
	var formed []control.Formed
	for rank, e := range m.ends {
		e.rank = rank
		g := Group{Plan: plan, Rank: rank, Epoch: epoch, Streams: streams, Blocks: e.blocks, Notify: func(v Event) { e.events <- v }}
		if m.lie != nil {
			m.lie(rank, &g)
		}
		var f control.Formed
		var err error
		pprof.Do(m.ctx, pprof.Labels("rank", fmt.Sprint(rank)), func(context.Context) { f, err = e.member.Form(g) })
		check(m.t, err)
		formed = append(formed, f)
	}
	errs := make(chan error)
	for rank, e := range m.ends {
		addresses := control.Addresses{}
		for peer := range formed[rank].Addresses {
			addresses[peer] = formed[peer].Addresses[rank]
		}
		go func() { errs <- e.member.Connect(m.ctx, addresses) }()
	}
	for range m.ends {
		check(m.t, <-errs)
	}
	for _, e := range slices.Backward(m.ends) { // the root at last, who then sends at once
		check(m.t, e.member.Begin(m.ctx))
	}
}

// compare looks whether all have a stream.
func (m *team) compare(stream int) {
	m.t.Helper()
	l := m.push.streams[stream]
	for _, e := range m.ends[1:] {
		e.disk.mu.Lock()
		for block := range l.Blocks() {
			if !bytes.Equal(e.disk.kept[stream][block], m.push.payload(l, block)) || e.disk.kept[stream][block] == nil {
				m.t.Errorf("member %d has another block %d of stream %d", e.rank, block, stream)
				break
			}
		}
		if len(e.disk.wrong) > 0 || e.disk.again > 0 {
			m.t.Errorf("member %d: %d blocks came again, %v", e.rank, e.disk.again, e.disk.wrong)
		}
		e.disk.mu.Unlock()
	}
}

func (m *team) endAll() {
	m.t.Helper()
	var all sync.WaitGroup
	for _, e := range m.ends {
		all.Go(func() {
			if err := e.member.End(m.ctx); err != nil {
				m.t.Error(err)
			}
		})
	}
	all.Wait()
}
