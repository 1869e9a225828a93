package crew

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/rdmc/muster"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// member is what lives in a child process.
type member struct {
	mu  sync.Mutex // one report at a time
	out *json.Encoder

	opened order
	device *verbs.Device
	queue  *verbs.CompletionQueue
	domain *verbs.Domain
	loop   *loop.Loop
	mesh   *mesh.Mesh
	liar   *liar
	fuse   fuse
	squads map[string]*squad
	failed []*muster.Group // those that others finish for
}

// serve obeys orders until the input ends.
func serve(in io.Reader, out io.Writer) error {
	leak.Enable()
	m := &member{out: json.NewEncoder(out), squads: make(map[string]*squad)}
	orders := json.NewDecoder(bufio.NewReader(in))
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		err := m.obey(o)
		r := report{Kind: kindDone}
		if err != nil {
			r.Error = err.Error()
		}
		m.report(r)
	}
}

func (m *member) report(r report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.out.Encode(r); err != nil {
		panic(err) // nobody listens any more
	}
}

// wrong reports something that must never be.
func (m *member) wrong(group, format string, args ...any) {
	m.report(report{Kind: kindWrong, Group: group, Cause: fmt.Sprintf(format, args...)})
}

func (m *member) obey(o order) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.within())
	defer cancel()
	switch o.Do {
	case "open":
		return m.open(o)
	case "join":
		return m.join(ctx, o)
	case "create":
		return m.create(ctx, o.Groups)
	case "send":
		return m.squads[o.Group].send(ctx, o.Sizes)
	case "admit":
		return m.squads[o.Group].admit(ctx)
	case "arm":
		m.fuse.arm(o.After, o.Signal)
		return nil
	case "lie":
		m.liar.lying.Store(true)
		return nil
	case "forge":
		return m.forge(ctx, o)
	case "regroup":
		return m.regroup(ctx, o.Dead)
	case "finish":
		return m.finish(ctx, o.Groups)
	case "bury":
		return m.bury(ctx)
	case "close":
		return m.close(ctx, o.Group)
	case "barrier":
		return m.mesh.Barrier(ctx, "barrier")
	case "leave":
		return m.leave(ctx)
	}
	return fmt.Errorf("unknown order %q", o.Do)
}

func (o *order) within() time.Duration {
	if o.Within > 0 {
		return o.Within
	}
	return patience / 2
}

// room is how many completions a member's queue has: enough for a thousand small groups.
const room = 1 << 16

// open makes a device, and a loop that runs.
func (m *member) open(o order) error {
	m.opened = o
	nic, err := openLane(o.Lane, o.Timeout)
	if err != nil {
		return err
	}
	if o.Hostile {
		m.liar = &liar{Device: nic}
		nic = m.liar
	}
	if o.Fused {
		nic = m.fuse.wrap(nic)
	}
	return m.openOn(nic)
}

func (m *member) openOn(nic driver.Device) (err error) {
	if m.device, err = verbs.Open(nic); err != nil {
		return err
	}
	if m.domain, err = m.device.NewDomain(); err != nil {
		return err
	}
	if m.queue, err = m.device.NewCompletionQueue(min(room, m.device.Limits().MaxCompletion)); err != nil {
		return err
	}
	if m.loop, err = loop.New(loop.Config{Completions: m.queue, Waiting: loop.Sleeping()}); err != nil {
		return err
	}
	return m.loop.Start()
}

func (m *member) join(ctx context.Context, o order) (err error) {
	names := make([]string, len(o.Members))
	for i := range names {
		names[i] = memberName(i)
	}
	m.mesh, err = mesh.Join(ctx, mesh.Config{Self: o.Self, Members: o.Members, Names: names,
		Options: connect.Options{Offers: []connect.Offer{{Provider: m.opened.Lane}}, Plain: true}})
	return err
}

// memberName is what errors call a member.
func memberName(index int) string { return fmt.Sprintf("m%d", index) }

// regroup goes on without the dead.
func (m *member) regroup(ctx context.Context, dead []int) error {
	rest, err := m.mesh.Without(ctx, dead...)
	if err != nil {
		return err
	}
	m.mesh = rest
	return nil
}

// leave gives everything back, and looks whether that was all.
func (m *member) leave(ctx context.Context) error {
	failed := errors.Join(m.bury(ctx), m.close(ctx, ""))
	for _, s := range m.squads {
		failed = errors.Join(failed, s.free())
	}
	if m.mesh != nil {
		failed = errors.Join(failed, m.mesh.Close())
	}
	if m.loop == nil {
		return failed
	}
	failed = errors.Join(failed, m.loop.Close(), m.queue.Close(), m.domain.Close(), m.device.Close())
	if failed != nil {
		return failed
	}
	return errors.Join(leak.Check(), goleak.Find())
}
