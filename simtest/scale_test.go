package simtest

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// relay is a node of a binary tree: every block that arrives goes on to both children. It is a machine.
type relay struct {
	device   *verbs.Device
	domain   *verbs.Domain
	queue    *verbs.CompletionQueue
	loop     *loop.Loop
	port     loop.Port
	memory   *verbs.Memory
	parent   *verbs.QueuePair
	children []child

	blockSize int
	blocks    int // of the object
	arrived   int
	err       error
}

// child is a queue pair to a child, and the capability on its memory.
type child struct {
	pair   *verbs.QueuePair
	memory verbs.RemoteSpan
}

// Step forwards what has arrived.
func (r *relay) Step(c *verbs.Completion) {
	r.keep(verbs.CompletionError(c))
	if c.Op == verbs.OpReceiveWriteImm {
		r.arrived++
		r.forward(int(c.Imm))
	}
}

// forward sends one block to the children, by Quiet writes that tell them its number.
func (r *relay) forward(block int) {
	at := block * r.blockSize
	for _, c := range r.children {
		to := c.memory.Sub(uint64(at), uint64(r.blockSize))
		r.keep(c.pair.WriteImm(r.port.Tag(1), r.memory.Span(at, r.blockSize), to, uint32(block), verbs.Quiet))
	}
}

func (r *relay) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func newRelay(fabric *sim.Fabric, i, blocks, blockSize int) (r *relay, err error) {
	r = &relay{blocks: blocks, blockSize: blockSize}
	provider, err := fabric.NewDevice(sim.NodeConfig{Name: fmt.Sprint("n", i)})
	if err != nil {
		return nil, err
	}
	if r.device, err = verbs.Open(provider); err != nil {
		return nil, err
	}
	if r.domain, err = r.device.NewDomain(); err != nil {
		return nil, err
	}
	if r.queue, err = r.device.NewCompletionQueue(3 * (2*blocks + 8)); err != nil {
		return nil, err
	}
	if r.memory, err = r.domain.AllocPhantom(uint64(blocks*blockSize), verbs.RemoteWrite); err != nil {
		return nil, err
	}
	if r.loop, err = loop.New(loop.Config{Completions: r.queue}); err != nil {
		return nil, err
	}
	r.port, err = r.loop.Add(r)
	return r, err
}

func (r *relay) newPair() (*verbs.QueuePair, error) {
	return r.domain.NewQueuePair(verbs.QueueConfig{Completions: r.queue, SendDepth: r.blocks, ReceiveDepth: r.blocks,
		Access: verbs.RemoteWrite})
}

// adopt connects a child to its parent, and has it expect every block.
func (r *relay) adopt(c *relay) error {
	up, err := c.newPair()
	if err != nil {
		return err
	}
	down, err := r.newPair()
	if err != nil {
		return err
	}
	c.parent = up
	r.children = append(r.children, child{down, c.memory.Remote(0, c.blocks*c.blockSize)})
	for range c.blocks {
		if err := up.Receive(c.port.Tag(2), verbs.Span{}); err != nil {
			return err
		}
	}
	return errors.Join(up.Connect(c.port.Tag(0), down.Address()), down.Connect(r.port.Tag(0), up.Address()),
		c.queue.Flush())
}

func (r *relay) close() error {
	failed := r.loop.Close()
	for _, c := range r.children {
		failed = errors.Join(failed, c.pair.Close())
	}
	if r.parent != nil {
		failed = errors.Join(failed, r.parent.Close())
	}
	return errors.Join(failed, r.memory.Close(), r.queue.Close(), r.domain.Close(), r.device.Close())
}

// A gigabyte on ten thousand nodes, simulated and checked: each node holds a phantom of it, and in the end knows of every
// byte where it came from.
func TestAGigabyteOnTenThousandNodes(t *testing.T) {
	const object = 7
	nodes, blocks := 10_000, 16
	if testing.Short() {
		nodes = 1_000
	}
	if os.Getenv("WEFT_LONG") != "" {
		blocks = 1024
	}
	size := 1 << 30
	fabric, err := sim.New(sim.Config{Seed: 42})
	check(t, err)
	tree := make([]*relay, nodes)
	for i := range tree {
		tree[i], err = newRelay(fabric, i, blocks, size/blocks)
		check(t, err)
		defer func() { check(t, tree[i].close()) }()
		if i > 0 {
			check(t, tree[(i-1)/2].adopt(tree[i]))
		}
	}
	check(t, fabric.Run(fabric.Now().Add(time.Millisecond))) // everybody connects
	check(t, tree[0].memory.Mark(0, size, verbs.Origin{Object: object}))
	start := time.Now()
	for b := range blocks {
		tree[0].forward(b)
	}
	check(t, tree[0].queue.Flush())
	left := func() bool { return tree[nodes-1].arrived == blocks && tree[nodes/2].arrived == blocks }
	check(t, fabric.RunUntil(left, fabric.Now().Add(time.Minute)))
	check(t, fabric.Run(fabric.Now().Add(time.Second)))
	for i, r := range tree {
		if from, whole := r.memory.Origin(0, size); r.err != nil || !whole || from != (verbs.Origin{Object: object}) {
			t.Fatalf("node %d: the object is %+v (whole: %t), error %v, %d blocks arrived", i, from, whole, r.err, r.arrived)
		}
	}
	t.Logf("%d nodes, %d blocks, %d events, %v virtual, %v real", nodes, blocks, fabric.Events(), fabric.Now(),
		time.Since(start).Round(time.Millisecond))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
