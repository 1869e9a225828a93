package multicast

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// clusterBlock is small: a block costs the same work however long it is.
const clusterBlock = 256

// cluster is a group whose members all live in this process, and take turns.
type cluster struct {
	device  *verbs.Device
	domain  *verbs.Domain
	members []*clusterMember
}

type clusterMember struct {
	queue    *verbs.CompletionQueue
	loop     *loop.Loop
	memory   *verbs.Memory
	group    *rdmc.Group
	ready    bool
	complete int // messages
	failed   error
}

func newCluster(algorithm schedule.Algorithm) (c *cluster, err error) {
	nic, err := soft.New(soft.Config{Lanes: soft.InProcess})
	if err != nil {
		return nil, err
	}
	c = &cluster{}
	if c.device, err = verbs.Open(nic); err != nil {
		return nil, err
	}
	if c.domain, err = c.device.NewDomain(); err != nil {
		return nil, errors.Join(err, c.device.Close())
	}
	if err := c.form(algorithm); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// form makes the members and connects them.
func (c *cluster) form(algorithm schedule.Algorithm) error {
	config := rdmc.Config{Name: "allocations", Algorithm: algorithm, BlockSize: clusterBlock}
	for rank := range 8 {
		config.Members = append(config.Members, fmt.Sprint("member ", rank))
	}
	for config.Self = range config.Members {
		m := &clusterMember{}
		c.members = append(c.members, m)
		if err := m.open(c, config); err != nil {
			return err
		}
	}
	for rank, m := range c.members {
		for _, peer := range m.group.Peers() {
			if err := m.group.Connect(peer, c.members[peer].group.Addresses(rank)); err != nil {
				return err
			}
		}
	}
	return c.turnUntil(func(m *clusterMember) bool { return m.ready })
}

func (m *clusterMember) open(c *cluster, config rdmc.Config) (err error) {
	room, err := rdmc.CompletionRoom(config)
	if err != nil {
		return err
	}
	if m.queue, err = c.device.NewCompletionQueue(room); err != nil {
		return err
	}
	if m.memory, err = c.domain.Alloc(longBlocks*clusterBlock, 0); err != nil {
		return err
	}
	if m.loop, err = loop.New(loop.Config{Completions: m.queue}); err != nil {
		return err
	}
	config.Ready = func() { m.ready = true }
	config.Incoming = func(rdmc.Message) rdmc.Place { return rdmc.Place{Memory: m.memory} }
	config.Completed = func(rdmc.Delivery) { m.complete++ }
	config.Failed = func(f *rdmc.Failure) { m.failed = f }
	m.group, err = rdmc.New(m.loop, c.domain, config)
	return err
}

// send sends one message and waits until all have it.
func (c *cluster) send(blocks int) error {
	root := c.members[0]
	want := root.complete + 1
	if _, err := root.group.Send(rdmc.Place{Memory: root.memory}, uint64(blocks)*clusterBlock); err != nil {
		return err
	}
	return c.turnUntil(func(m *clusterMember) bool { return m.complete == want })
}

// turnUntil lets the members take turns until all are done.
func (c *cluster) turnUntil(done func(*clusterMember) bool) error {
	for waiting := true; waiting; {
		waiting = false
		for _, m := range c.members {
			if _, err := m.loop.Turn(); err != nil || m.failed != nil {
				return errors.Join(err, m.failed)
			}
			waiting = waiting || !done(m)
		}
	}
	return nil
}

// close frees everything. What has not been opened is not there.
func (c *cluster) close() {
	for _, m := range c.members {
		if m.loop != nil {
			_ = m.loop.Close()
		}
		if m.group != nil {
			m.group.Discard()
		}
	}
	for _, m := range c.members {
		if m.memory != nil {
			_ = m.memory.Close()
		}
		if m.queue != nil {
			_ = m.queue.Close()
		}
	}
	_ = c.domain.Close()
	_ = c.device.Close()
}
