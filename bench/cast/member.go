package cast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/muster"
	"github.com/weft-fabric/weft/verbs"
)

// End is what a member brings along.
type End struct {
	// Open opens a device that reaches the others by a lane. The session leads to one of them.
	Open func(job *Job, lane string, session *connect.Session) (*verbs.Device, error)
	// Options are for the sessions between members.
	Options connect.Options
}

// member is one process of a job: its sessions with the others, its device, and its node.
type member struct {
	End
	job      *Job
	rank     int
	listener *connect.Listener
	mesh     *mesh.Mesh
	device   *verbs.Device
	node     *node
	groups   []*muster.Group
}

// goodbyeTime is how long groups may take to say goodbye.
const goodbyeTime = 2 * time.Second

// open opens a lane, and all that is made on it, instead of what was open.
func (m *member) open(lane string, session *connect.Session) (err error) {
	if err := m.closeDevice(); err != nil {
		return err
	}
	if m.device, err = m.Open(m.job, lane, session); err != nil {
		m.device = nil
		return err
	}
	if err := enoughMemory(m.job); err != nil {
		return err
	}
	if m.node, err = newNode(m.job, m.rank, m.device, false, hostClock); err != nil {
		return err
	}
	if m.job.undecided() {
		return nil
	}
	return m.node.loop.Start()
}

// decided completes the job by a choice, and what was opened for it.
func (m *member) decided(c Choice) error {
	if err := m.job.take(c); err != nil {
		return err
	}
	if err := m.node.prepare(m.job.groups(m.rank)); err != nil {
		return err
	}
	return m.node.loop.Start()
}

// submission is how sending has begun.
type submission struct {
	at  int64
	err error
}

// submit has the loop send the message, and returns when that was.
func (m *member) submit(ctx context.Context, group int) (at int64, err error) {
	sent := make(chan submission, 1)
	if err := m.node.loop.Do(func() {
		at, err := m.node.send(group)
		sent <- submission{at, err}
	}); err != nil {
		return 0, err
	}
	select {
	case s := <-sent:
		return s.at, s.err
	case <-ctx.Done():
		return 0, errInterrupted
	}
}

// await waits until the message is complete here.
func (m *member) await(ctx context.Context) (completion, error) {
	select {
	case c := <-m.node.completed:
		return c, nil
	case failure := <-m.node.failed:
		return completion{}, failure
	case <-ctx.Done():
		return completion{}, short(context.Cause(ctx))
	}
}

// check compares the contents of a run, and gives their buffer back.
func (m *member) check(c completion, run int) error {
	return errors.Join(m.node.check(c, run), m.node.loop.Do(c.release))
}

// tell makes a word of how something has ended here.
func tell(err error) word {
	if err == nil {
		return word{}
	}
	w := word{Error: said(err)}
	var failure *rdmc.Failure
	if errors.As(err, &failure) && failure.Rank != rdmc.Unknown {
		w.Error, w.Blame = fmt.Sprint(failure.Cause), &failure.Rank
	}
	return w
}

// said is an error as it stands behind a member's name.
func said(err error) string {
	if errors.Is(err, errInterrupted) {
		return errInterrupted.Error()
	}
	return "failed: " + err.Error()
}

// close ends everything, and tells the others why if it ends too early. Groups say goodbye first, for which they have a
// moment.
func (m *member) close(why error) (err error) {
	err = m.closeDevice()
	if m.mesh != nil {
		err = errors.Join(err, m.mesh.CloseWith(why))
	}
	if m.listener != nil {
		err = errors.Join(err, m.listener.Close())
	}
	return err
}

func (m *member) closeDevice() (err error) {
	if m.node != nil {
		err = errors.Join(m.leave(), m.node.close())
	}
	if m.device != nil {
		err = errors.Join(err, m.device.Close())
	}
	m.device, m.node = nil, nil
	return err
}
