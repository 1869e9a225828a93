package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/target"
)

// act is what goes wrong.
type act string

const (
	actFail      act = "fail"      // what was asked for
	actDelay     act = "delay"     // it
	actKill      act = "kill"      // the agent, as if its process were gone
	actStop      act = "stop"      // the agent well
	actRestart   act = "restart"   // kill it, and start it again
	actCut       act = "cut"       // all connections of the host
	actShut      act = "shut"      // cut them, and let none through for a while
	actFreeze    act = "freeze"    // them for a while
	actInterrupt act = "interrupt" // the push
)

// fault is something that goes wrong at a host, when a point was reached for the nth time.
type fault struct {
	point string
	nth   int
	act   act
	long  time.Duration
	err   error
}

func (f fault) String() string {
	return fmt.Sprintf("%s at %s %d (%v, %v)", f.act, f.point, f.nth, f.long, f.err)
}

// blames reports whether it is the host's own fault.
func (f fault) blames() bool { return f.act != actDelay && f.act != actInterrupt && f.act != actFreeze }

// The points of an agent at which something can go wrong, with about how often each is reached.
var points = []struct {
	name string
	most int
}{
	{"hello", 1}, {"open", 1}, {"form", 2}, {"connect", 2}, {"begin", 2}, {"status", 6}, {"pages", 1}, {"have", 1}, {"end", 2}, {"finish", 1}, {"abort", 1},
	{"after open", 1}, {"after form", 2}, {"after connect", 2}, {"after begin", 2}, {"after status", 4}, {"after pages", 1}, {"after have", 1},
	{"after end", 2}, {"after finish", 1},
	{"start", 1}, {"write manifest", 1}, {"manifest done", 1}, {"examine", 1}, {"conflicts", 1}, {"commit", 1}, {"after commit", 1}, {"keep", 1},
	{"write", 40}, {"write", 40}, {"write", 40}, {"after write", 40}, {"read", 10}, {"check", 40}, {"check", 40}, {"fetch", 10},
	{"enlist", 1}, {"crew form", 2}, {"crew connect", 2}, {"crew begin", 2}, {"crew end", 2}, {"after crew end", 2},
}

var acts = []act{actFail, actFail, actDelay, actDelay, actKill, actKill, actStop, actRestart, actCut, actShut, actFreeze, actInterrupt}

func randomFault(r *rand.Rand) fault {
	point := points[r.IntN(len(points))]
	f := fault{point: point.name, nth: 1 + r.IntN(point.most), act: acts[r.IntN(len(acts))]}
	switch f.act {
	case actFail:
		f.err = []error{syscall.ENOSPC, syscall.EIO, &control.Trouble{Class: control.Other, Text: "it just fails"}, target.ErrChanged}[r.IntN(4)]
	case actDelay, actFreeze:
		f.long = time.Duration(r.IntN(1000)) * time.Millisecond
	case actShut, actRestart:
		f.long = time.Duration(r.IntN(4000)) * time.Millisecond
	}
	return f
}

// faults are those of one host.
type faults struct {
	do   func(fault) // what is no matter of the point itself
	lies bool        // it passes on other bytes than it has received
	slow time.Duration

	mu      sync.Mutex
	list    []fault
	reached map[string]int
	written map[int]bool // blocks
	off     bool
}

// at is that a point was reached.
func (x *faults) at(point string) error {
	for _, f := range x.reach(point) {
		switch f.act {
		case actFail:
			return f.err
		case actDelay:
			_ = pause.For(context.Background(), f.long)
		default:
			x.do(f)
		}
	}
	return nil
}

func (x *faults) reach(point string) (now []fault) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reached[point]++
	for _, f := range x.list {
		if f.point == point && f.nth == x.reached[point] && !x.off {
			now = append(now, f)
		}
	}
	return now
}

// end has nothing more go wrong.
func (x *faults) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.off, x.written = true, map[int]bool{}
}

func (x *faults) isOff() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.off
}

// troubled are the agents whose calls have faults.
var troubled sync.Map // *agent → *faults

func init() {
	for name, inner := range methods {
		methods[name] = func(a *agent, caller keys.Identity, request []byte) (deed, error) {
			do, err := inner(a, caller, request)
			x, ok := troubled.Load(a)
			if err != nil || !ok {
				return do, err
			}
			return func(ctx context.Context) (any, error) {
				return x.(*faults).around(name, func() (any, error) { return do(ctx) })
			}, nil
		}
	}
}

func (x *faults) around(point string, do func() (any, error)) (any, error) {
	if err := x.at(point); err != nil {
		return nil, err
	}
	answer, err := do()
	if err == nil {
		err = x.at("after " + point)
	}
	return answer, err
}

// badDisk is a disk with faults.
type badDisk struct {
	disk
	*faults
}

func (d badDisk) Begin(o target.Order) (delivery, error) {
	if err := d.at("start"); err != nil {
		return nil, err
	}
	begun, err := d.disk.Begin(o)
	if err != nil {
		return nil, err
	}
	return badDelivery{begun, d.faults}, nil
}

type badDelivery struct {
	delivery
	*faults
}

func (d badDelivery) WriteManifest(block int, payload []byte) error {
	if err := d.at("write manifest"); err != nil {
		return err
	}
	return d.delivery.WriteManifest(block, payload)
}

func (d badDelivery) ManifestDone(ctx context.Context, progress func(uint64)) error {
	if err := d.at("manifest done"); err != nil {
		return err
	}
	return d.delivery.ManifestDone(ctx, progress)
}

func (d badDelivery) Examine(ctx context.Context, progress func(done, total uint64)) (int, error) {
	if err := d.at("examine"); err != nil {
		return 0, err
	}
	return d.delivery.Examine(ctx, progress)
}

func (d badDelivery) Conflicts() error {
	if err := d.at("conflicts"); err != nil {
		return err
	}
	return d.delivery.Conflicts()
}

func (d badDelivery) Write(block int, payload []byte) error {
	if err := d.at("write"); err != nil {
		return err
	}
	_ = pause.For(context.Background(), d.slow)
	d.mu.Lock()
	d.written[block] = true
	d.mu.Unlock()
	if err := d.delivery.Write(block, payload); err != nil {
		return err
	}
	return d.at("after write")
}

func (d badDelivery) Read(block int, into []byte) error {
	if err := d.at("read"); err != nil {
		return err
	}
	return d.delivery.Read(block, into)
}

func (d badDelivery) Commit(ctx context.Context) (target.Result, error) {
	if err := d.at("commit"); err != nil {
		return target.Result{}, err
	}
	done, err := d.delivery.Commit(ctx)
	if err == nil {
		err = d.at("after commit")
	}
	return done, err
}

func (d badDelivery) Keep() error {
	_ = d.at("keep")
	return d.delivery.Keep()
}

// badCrew is a crew with faults.
type badCrew struct {
	crew
	*faults
}

func (c badCrew) Form(g member.Group) (control.Formed, error) {
	if err := c.at("crew form"); err != nil {
		return control.Formed{}, err
	}
	g.Blocks = badBlocks{g.Blocks, c.faults}
	return c.crew.Form(g)
}

func (c badCrew) Connect(ctx context.Context, addresses control.Addresses) error {
	if err := c.at("crew connect"); err != nil {
		return err
	}
	return c.crew.Connect(ctx, addresses)
}

func (c badCrew) Begin(ctx context.Context) error {
	if err := c.at("crew begin"); err != nil {
		return err
	}
	return c.crew.Begin(ctx)
}

func (c badCrew) End(ctx context.Context) error {
	_ = c.at("crew end")
	if err := c.crew.End(ctx); err != nil {
		return err
	}
	return c.at("after crew end")
}

// badBlocks are blocks with faults. If they lie, what is passed on differs in its last byte from what is kept.
type badBlocks struct {
	member.Blocks
	*faults
}

func (b badBlocks) Check(l manifest.Layout, block int, wire []byte) error {
	if err := b.at("check"); err != nil {
		return err
	}
	err := b.Blocks.Check(l, block, wire)
	if err == nil && b.lies && !b.isOff() {
		wire[len(wire)-1] ^= 1
	}
	return err
}

func (b badBlocks) Keep(l manifest.Layout, block int, wire []byte) error {
	if b.lies && !b.isOff() {
		wire = append([]byte(nil), wire...)
		wire[len(wire)-1] ^= 1
	}
	return b.Blocks.Keep(l, block, wire)
}

func (b badBlocks) Fetch(l manifest.Layout, block int, into []byte) error {
	if err := b.at("fetch"); err != nil {
		return err
	}
	err := b.Blocks.Fetch(l, block, into)
	if b.lies && !b.isOff() {
		into[len(into)-1] ^= 1
	}
	return err
}
