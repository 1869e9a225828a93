package groups

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs"
)

// Config describes a cluster.
type Config struct {
	Fabric sim.Config
	Nodes  int
	Node   func(i int) sim.NodeConfig // what is special about a node; nil: nothing; the name is set by New
}

// Cluster is some nodes in one simulated fabric, and the groups on them.
type Cluster struct {
	Fabric *sim.Fabric
	Nodes  []*Node
	// Problems are broken promises, the first maxProblems of them.
	Problems []string
	// Received is how many blocks, and headers that travel alone, came to all nodes so far.
	Received int

	groups  []*Group
	streams []*stream
	observe func(sim.Event) // the caller's own
}

const maxProblems = 10

// Node is one machine: a NIC and a loop.
type Node struct {
	Name    string
	Loop    *loop.Loop
	Crashed bool

	cluster *Cluster
	device  *verbs.Device
	domain  *verbs.Domain
	queue   *verbs.CompletionQueue
}

// New makes a cluster of nodes that are called n0, n1 and so on.
func New(config Config) (*Cluster, error) {
	c := &Cluster{observe: config.Fabric.Observe}
	config.Fabric.Observe = c.event
	var err error
	if c.Fabric, err = sim.New(config.Fabric); err != nil {
		return nil, err
	}
	for i := range config.Nodes {
		var special sim.NodeConfig
		if config.Node != nil {
			special = config.Node(i)
		}
		special.Name = fmt.Sprint("n", i)
		if err := c.addNode(special); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func (c *Cluster) addNode(config sim.NodeConfig) error {
	provider, err := c.Fabric.NewDevice(config)
	if err != nil {
		return err
	}
	n := &Node{Name: config.Name, cluster: c}
	if n.device, err = verbs.Open(provider); err != nil {
		return err
	}
	c.Nodes = append(c.Nodes, n)
	if n.domain, err = n.device.NewDomain(); err != nil {
		return err
	}
	if n.queue, err = n.device.NewCompletionQueue(n.device.Limits().MaxCompletion); err != nil {
		return err
	}
	n.Loop, err = loop.New(loop.Config{Completions: n.queue})
	return err
}

// event counts what arrives: blocks have bytes, or a header, and all other messages of a group are empty.
func (c *Cluster) event(e sim.Event) {
	if e.Kind == sim.Completed && e.Op == verbs.OpReceiveImm && e.Status == verbs.OK && e.Bytes > 0 {
		c.Received++
	}
	if c.observe != nil {
		c.observe(e)
	}
}

// Crash stops a node, and its members with it.
func (c *Cluster) Crash(node int) {
	n := c.Nodes[node]
	if !n.Crashed {
		n.Crashed = true
		c.expect(c.Fabric.Crash(n.Name))
	}
}

// Run lets virtual time pass.
func (c *Cluster) Run(d time.Duration) error { return c.Fabric.Run(c.Fabric.Now().Add(d)) }

// RunUntil lets virtual time pass until something is true, and fails if that takes longer than d.
func (c *Cluster) RunUntil(done func() bool, d time.Duration) error {
	return c.Fabric.RunUntil(done, c.Fabric.Now().Add(d))
}

// later does something on a node's loop, after a while, if the node still runs then.
func (n *Node) later(d time.Duration, do func()) {
	c := n.cluster
	c.Fabric.At(c.Fabric.Now().Add(d), func() { n.do(do) })
}

// do does something on a node's loop.
func (n *Node) do(do func()) {
	if !n.Crashed {
		n.cluster.expect(n.Loop.Do(func() {
			if !n.Crashed {
				do()
			}
		}))
	}
}

// problem records a broken promise.
func (c *Cluster) problem(format string, arguments ...any) {
	if len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, fmt.Sprintf("%v: ", c.Fabric.Now())+fmt.Sprintf(format, arguments...))
	}
}

// expect records an error where there should be none.
func (c *Cluster) expect(err error) {
	if err != nil {
		c.problem("%v", err)
	}
}

// Close frees everything, groups first, without a word to anybody.
func (c *Cluster) Close() error {
	var failed []error
	for _, g := range c.groups {
		failed = append(failed, g.discard()...)
	}
	for _, s := range c.streams {
		failed = append(failed, s.close()...)
	}
	for _, n := range c.Nodes {
		failed = append(failed, n.close()...)
	}
	// What belongs to a crashed node says so, and is closed all the same.
	return errors.Join(slices.DeleteFunc(failed, func(err error) bool { return errors.Is(err, sim.ErrCrashed) })...)
}

func (n *Node) close() (failed []error) {
	if n.Loop != nil {
		failed = append(failed, n.Loop.Close())
	}
	if n.queue != nil {
		failed = append(failed, n.queue.Close())
	}
	if n.domain != nil {
		failed = append(failed, n.domain.Close())
	}
	return append(failed, n.device.Close())
}
