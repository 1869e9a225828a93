package cast

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
)

// node is one member on its device: its end of the groups, memory for one message, and what has become of it.
type node struct {
	job    *Job
	rank   int
	now    func() int64 // nanoseconds
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
	memory *verbs.Memory
	shapes []rdmc.Config // of the groups, without what they call
	groups []*rdmc.Group // the multicast, and at two members the plain copy

	ignores bool // what comes

	completed chan completion // has room for the one that can be there
	failed    chan *rdmc.Failure
	changed   func() // is told of both, on the loop
}

// completion is a message that is here.
type completion struct {
	at       int64 // by the node's clock
	group    *rdmc.Group
	delivery rdmc.Delivery
}

// The groups of a node.
const (
	multicast = iota
	plainCopy
)

// newNode opens a member's end on a device, in memory that the NIC knows and that was touched. Groups are made later; if the
// job is not decided, prepare comes before.
func newNode(job *Job, rank int, device *verbs.Device, phantom bool, now func() int64) (*node, error) {
	n := &node{job: job, rank: rank, now: now, completed: make(chan completion, 1), failed: make(chan *rdmc.Failure, 2), changed: func() {}}
	err := n.open(device, phantom)
	if err == nil && !job.undecided() {
		err = n.prepare(job.groups(rank))
	}
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) open(device *verbs.Device, phantom bool) (err error) {
	if n.domain, err = device.NewDomain(); err != nil {
		return err
	}
	return n.allocate(phantom)
}

// prepare makes room for groups, and the loop that they run on.
func (n *node) prepare(shapes []rdmc.Config) (err error) {
	n.shapes = shapes
	room := 1
	for _, config := range n.configs() {
		need, err := rdmc.CompletionRoom(config)
		if err != nil {
			return err
		}
		room += need
	}
	if n.queue, err = n.domain.Device().NewCompletionQueue(room); err != nil {
		return err
	}
	n.loop, err = loop.New(loop.Config{Completions: n.queue, Waiting: n.job.waiting()})
	return err
}

// allocate makes memory for one message, and touches every page of it.
func (n *node) allocate(phantom bool) (err error) {
	size := max(n.job.Size, 8)
	if phantom {
		n.memory, err = n.domain.AllocPhantom(size, 0)
		return err
	}
	if n.memory, err = n.domain.Alloc(int(size), 0); err != nil {
		return fmt.Errorf("memory for a message of %d bytes: %w", size, err)
	}
	const page = 4096
	for i, b := 0, n.memory.Bytes(); i < len(b); i += page {
		b[i] = 1
	}
	return nil
}

// configs are those of the member's groups.
func (n *node) configs() []rdmc.Config {
	all := slices.Clone(n.shapes)
	for i := range all {
		all[i].Phantom = n.memory.Bytes() == nil
		all[i].Incoming = func(rdmc.Message) rdmc.Place { return rdmc.Place{Memory: n.memory} }
		all[i].Completed = func(d rdmc.Delivery) { n.complete(n.groups[i], d) }
		all[i].Failed = n.fail
	}
	return all
}

// made takes in a group, in the order of the configurations.
func (n *node) made(group *rdmc.Group) { n.groups = append(n.groups, group) }

// complete keeps a message until its contents are checked. There is one at a time: what a root sends beyond that is not
// looked at, and does not stop the loop.
func (n *node) complete(group *rdmc.Group, d rdmc.Delivery) {
	if n.ignores {
		return
	}
	select {
	case n.completed <- completion{n.now(), group, d}:
		group.Keep(d.Number)
		n.changed()
	default:
	}
}

// fail keeps a failure. There is room for one of each group.
func (n *node) fail(f *rdmc.Failure) {
	n.failed <- f
	n.changed()
}

// seed is that of the contents of a run.
func (n *node) seed(run int) uint64 { return mix(n.job.Seed, uint64(run)) }

// fill writes what the root will send in a run.
func (n *node) fill(run int) error {
	if b := n.memory.Bytes(); b != nil {
		fill(b[:n.job.Size], n.seed(run))
		return nil
	}
	return n.memory.Mark(0, int(n.job.Size), verbs.Origin{Object: n.seed(run)})
}

// send submits the message, and returns when. It runs on the loop.
func (n *node) send(group int) (at int64, err error) {
	at = n.now()
	_, err = n.groups[group].Send(rdmc.Place{Memory: n.memory}, n.job.Size)
	return at, err
}

// check compares what has arrived with what was sent in a run, and gives its buffer back.
func (n *node) check(c completion, run int) error {
	if got := c.delivery.Size; got != n.job.Size {
		return fmt.Errorf("a message of %d bytes came, and %d were sent", got, n.job.Size)
	}
	if n.job.Size == 0 {
		return nil
	}
	at := c.delivery.Place
	if b := at.Memory.Bytes(); b != nil {
		return check(b[at.Offset:][:n.job.Size], n.seed(run))
	}
	if origin, whole := at.Memory.Origin(int(at.Offset), int(n.job.Size)); !whole || origin != (verbs.Origin{Object: n.seed(run)}) {
		return fmt.Errorf("the contents come from %+v, unbroken %v, and not from what was sent", origin, whole)
	}
	return nil
}

// advance is how far a group's message has come here, in blocks. It runs on the loop.
func (n *node) advance(group int) (done int) {
	_, done, _ = n.groups[group].Progress()
	return done
}

// release gives a message's buffer back. It runs on the loop.
func (c completion) release() { c.group.Release(c.delivery.Number) }

// close frees everything at once, groups that were not closed without a word.
func (n *node) close() (err error) {
	if n.loop != nil {
		err = n.loop.Close()
	}
	for _, group := range n.groups {
		group.Discard()
	}
	if n.queue != nil {
		err = errors.Join(err, n.queue.Close())
	}
	if n.memory != nil {
		err = errors.Join(err, n.memory.Close())
	}
	if n.domain != nil {
		err = errors.Join(err, n.domain.Close())
	}
	return err
}
