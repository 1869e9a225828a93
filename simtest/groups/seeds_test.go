package groups

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var oneSeed = flag.Int64("seed", -1, "run this seed alone")

const (
	peerTimeout = 2 * time.Millisecond
	stall       = 60 * time.Millisecond
	// noticed is how long a crash may take to be reported everywhere: the provider notices within PeerTimeout, at the
	// neighbours of the dead; the others hear it from member to member, in a few microseconds each.
	noticed = peerTimeout + time.Millisecond
	// quiet is longer than anything that could still come.
	quiet = 2 * stall
	// finish is more than any of these transfers takes, with everything that is slow.
	finish = 20 * time.Second
)

// Whatever the shape of the group, the sizes and the moment of a crash: what completes is exact, in order, once; every
// survivor hears of the failure once, in time, by the name of who died; other groups notice nothing; and the survivors
// finish what was under way without sending a block again that arrived.
func TestSeeds(t *testing.T) {
	first, count := uint64(0), uint64(1000)
	switch {
	case *oneSeed >= 0:
		first, count = uint64(*oneSeed), 1
	case os.Getenv("WEFT_LONG") != "":
		count = 20_000
	case testing.Short():
		count = 100
	}
	var sum tally
	for seed := first; seed < first+count; seed++ {
		s := newScenario(seed)
		hash, err := s.play()
		if seed%20 == 0 && err == nil {
			if again, _ := newScenario(seed).play(); again != hash {
				err = fmt.Errorf("the trace is %x, and %x when it is run again", hash, again)
			}
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%v\nto run it alone: go test ./simtest/groups -run TestSeeds -seed %d", seed, err, s, seed)
		}
		sum.add(&s.tally)
	}
	t.Logf("%+v", sum)
}

// tally is what happened, so that a test which tests nothing is seen.
type tally struct {
	Groups, Messages, Failures, Repairs, Rescued, Repaired int
}

func (t *tally) add(u *tally) {
	t.Groups += u.Groups
	t.Messages += u.Messages
	t.Failures += u.Failures
	t.Repairs += u.Repairs
	t.Rescued += u.Rescued
	t.Repaired += u.Repaired
}

// scenario is a random cluster with random groups, and what happens to it.
type scenario struct {
	tally
	random   *rand.Rand
	config   Config
	specs    []Spec
	sizes    [][]uint64      // of the messages, by group
	spread   []time.Duration // between messages, by group
	victims  []int           // nodes that crash, or are cut off
	cut      bool            // they are cut off, all together
	fault    time.Duration   // after the first Send
	arrivals int             // or, if not negative, when so many blocks have arrived
	early    bool            // or while the groups are being formed
	slow     float64         // factor of node 0's rate; 1: as fast as the others

	cluster *Cluster
	travel  *travel
	groups  []*Group
	faultAt clock.Time // 0: none yet
}

func newScenario(seed uint64) *scenario {
	s := &scenario{random: rand.New(rand.NewPCG(seed, 5)), slow: 1, arrivals: -1}
	nodes := 1 + s.random.IntN(12)
	switch s.random.IntN(50) {
	case 0:
		nodes = 64 + s.random.IntN(10)
	case 1, 2, 3, 4, 5:
		nodes = 12 + s.random.IntN(10)
	}
	racks := 1 + s.random.IntN(4)
	s.config = Config{Nodes: nodes,
		Fabric: sim.Config{Seed: seed, Racks: racks, PeerTimeout: peerTimeout, Jitter: []float64{-1, 0, 1, 30}[s.random.IntN(4)]},
		Node:   func(i int) sim.NodeConfig { return sim.NodeConfig{Rack: i % racks} }}
	if s.chance(3) {
		s.config.Fabric.Uplink = 25e9
	}
	if s.chance(4) {
		s.slow = 0.05 + 0.9*s.random.Float64()
	}
	for range 1 + s.random.IntN(3) {
		s.addGroup(nodes, racks)
	}
	s.addFault(nodes)
	return s
}

func (s *scenario) chance(oneIn int) bool { return s.random.IntN(oneIn) == 0 }

func (s *scenario) addGroup(nodes, racks int) {
	spec := Spec{Nodes: s.random.Perm(nodes)}
	if s.chance(3) {
		spec.Nodes = spec.Nodes[:1+s.random.IntN(nodes)]
	}
	all := schedule.Algorithms()
	spec.Algorithm = all[s.random.IntN(len(all))]
	if spec.Algorithm.Racks() {
		for _, node := range spec.Nodes {
			spec.Racks = append(spec.Racks, node%racks)
		}
	}
	spec.BlockSize = []int{1, 7, 64, 100, 512, 1000, 4096}[s.random.IntN(7)]
	spec.Stripes, spec.Credits, spec.Sends = s.random.IntN(4), s.random.IntN(5), s.random.IntN(4)
	spec.Stall = stall
	spec.Blockwise = s.chance(2)
	spec.Gate = spec.Blockwise && s.chance(2)
	spec.Offload = !spec.Gate && s.chance(4)
	if s.chance(3) {
		spec.Wait = s.waits()
	}
	s.specs = append(s.specs, spec)
	s.addMessages(spec.BlockSize)
}

// waits is a member's slowness: mostly none, sometimes some.
func (s *scenario) waits() func() time.Duration {
	random := rand.New(rand.NewPCG(s.random.Uint64(), 1))
	most := 1 + random.IntN(20_000)
	return func() time.Duration {
		if random.IntN(3) > 0 {
			return 0
		}
		return time.Duration(1 + random.IntN(most))
	}
}

func (s *scenario) addMessages(blockSize int) {
	var sizes []uint64
	for range 1 + s.random.IntN(4) {
		size := s.random.IntN(20*blockSize + 1)
		switch s.random.IntN(8) {
		case 0:
			size = 0
		case 1:
			size = s.random.IntN(blockSize + 1)
		case 2:
			size = (1 + s.random.IntN(20)) * blockSize
		}
		sizes = append(sizes, uint64(size))
	}
	s.sizes = append(s.sizes, sizes)
	s.spread = append(s.spread, time.Duration(s.random.IntN(2)*s.random.IntN(40_000)))
}

func (s *scenario) addFault(nodes int) {
	if s.chance(2) || nodes < 2 {
		return
	}
	s.victims = s.random.Perm(nodes)[:1]
	if s.chance(5) {
		s.cut = true
		s.victims = s.random.Perm(nodes)[:1+s.random.IntN(nodes-1)]
	}
	s.early = s.chance(12)
	longest := 20_000 // ns; a short transfer, or long after one
	if s.chance(2) {
		longest = 200_000
	}
	if s.early {
		longest = 3000
	}
	s.fault = time.Duration(s.random.IntN(longest))
}

// String describes the scenario, for whoever has to understand a failure.
func (s *scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, fabric %+v, node 0 at %g of its rate", s.config.Nodes, s.config.Fabric, s.slow)
	if s.victims != nil {
		fmt.Fprintf(&b, ", %v after the start: nodes %v crash (cut off: %t, while groups form: %t)", s.fault, s.victims, s.cut,
			s.early)
	}
	for i, spec := range s.specs {
		fmt.Fprintf(&b, "\ngroup g%d: %v of nodes %v, racks %v, stripes %d, credits %d, sends %d, blocks of %d, by block %t, gate %t, "+
			"offload %t, slow %t, messages %v every %v", i, spec.Algorithm, spec.Nodes, spec.Racks, spec.Stripes, spec.Credits,
			spec.Sends, spec.BlockSize, spec.Blockwise, spec.Gate, spec.Offload, spec.Wait != nil, s.sizes[i], s.spread[i])
	}
	return b.String()
}

// play runs the scenario to its end, and returns the hash of the trace.
func (s *scenario) play() (hash uint64, err error) {
	s.travel = newTravel(s.config.Fabric.Jitter)
	config := s.config
	config.Fabric.Observe = s.travel.event
	if s.cluster, err = New(config); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.cluster.Close()) }()
	if err = s.start(); err == nil {
		err = s.live()
	}
	if err == nil {
		err = s.repair()
	}
	if err == nil {
		err = s.end()
	}
	if s.travel.late != "" && !s.cut {
		err = errors.Join(err, errors.New(s.travel.late))
	}
	if len(s.cluster.Problems) > 0 {
		err = errors.Join(err, errors.New(strings.Join(s.cluster.Problems, "\n")))
	}
	return s.cluster.Fabric.TraceHash(), err
}

// start makes the groups, and lets the sending begin.
func (s *scenario) start() error {
	c := s.cluster
	if err := c.Fabric.SlowNode("n0", s.slow); err != nil {
		return err
	}
	for _, spec := range s.specs {
		g, err := c.Group(spec)
		if err != nil {
			return err
		}
		s.groups = append(s.groups, g)
	}
	if s.early {
		c.Fabric.At(c.Fabric.Now().Add(s.fault), s.strike)
	}
	formed := func(g *Group) bool { return g.Ready() || s.hit(g) && g.Failed() }
	if err := c.RunUntil(s.all(formed), finish); err != nil {
		return fmt.Errorf("the groups do not become ready: %w", err)
	}
	now := c.Fabric.Now()
	for i, g := range s.groups {
		if g.Failed() {
			continue
		}
		for j, size := range s.sizes[i] {
			c.Fabric.At(now.Add(time.Duration(j)*s.spread[i]), func() { g.Send(size) })
		}
	}
	if s.victims == nil || s.early {
		return nil
	}
	if s.arrivals < 0 {
		c.Fabric.At(now.Add(s.fault), s.strike)
		return nil
	}
	err := c.RunUntil(func() bool { return c.Received >= s.arrivals }, finish)
	s.strike()
	return err
}

func (s *scenario) all(is func(*Group) bool) func() bool {
	return func() bool {
		for _, g := range s.groups {
			if !is(g) {
				return false
			}
		}
		return true
	}
}

// strike lets the fault happen.
func (s *scenario) strike() {
	s.faultAt = s.cluster.Fabric.Now()
	if !s.cut {
		s.cluster.Crash(s.victims[0])
		return
	}
	var names []string
	for _, v := range s.victims {
		names = append(names, s.cluster.Nodes[v].Name)
	}
	s.cluster.expect(s.cluster.Fabric.Partition(names))
}

// live waits until each group has completed or failed, whatever it has to, and sees that it did so in time.
func (s *scenario) live() error {
	settled := func() bool {
		return (s.victims == nil || s.faultAt > 0) && s.all(func(g *Group) bool {
			return s.hit(g) && g.Failed() || !s.hit(g) && g.Done()
		})()
	}
	if err := s.cluster.RunUntil(settled, finish); err != nil {
		return fmt.Errorf("%w: %s", err, s.stuck())
	}
	if err := s.cluster.Run(quiet); err != nil {
		return err
	}
	for _, g := range s.groups {
		s.Groups++
		for _, m := range g.Members {
			s.Messages += len(m.Completed)
			if err := s.judge(g, m); err != nil {
				return fmt.Errorf("group %s, member %d (%s): %w", g.Spec.Name, m.Rank, m.Node.Name, err)
			}
		}
	}
	return nil
}

// hit reports whether a group loses a member by the fault.
func (s *scenario) hit(g *Group) bool {
	in := 0
	for _, v := range s.victims {
		if g.member(v) != nil {
			in++
		}
	}
	return in > 0 && (!s.cut || in < len(g.Members))
}

// judge looks at what one member was told.
func (s *scenario) judge(g *Group, m *Member) error {
	switch {
	case m.Node.Crashed:
		return nil
	case !s.hit(g) && m.Failure != nil:
		return fmt.Errorf("failed although all its members are well: %w", m.Failure)
	case !s.hit(g):
		return nil
	case m.FailedAt < s.faultAt || m.FailedAt.Sub(s.faultAt) > noticed:
		return fmt.Errorf("failed %v after the crash, %v is the limit", m.FailedAt.Sub(s.faultAt), noticed)
	}
	s.Failures++
	return s.judgeName(g, m)
}

// judgeName sees whether the member blames who failed: the crashed one or, in a partition, one from beyond the cut.
func (s *scenario) judgeName(g *Group, m *Member) error {
	f := m.Failure
	if f.Rank < 0 || f.Rank >= len(g.Members) || f.Member != g.Members[f.Rank].Node.Name || !errors.Is(f, rdmc.ErrDied) {
		return fmt.Errorf("blames nobody: %w", f)
	}
	mine, theirs := s.isVictim(g.Spec.Nodes[m.Rank]), s.isVictim(g.Spec.Nodes[f.Rank])
	if mine == theirs {
		return fmt.Errorf("blames the wrong one: %w", f)
	}
	return nil
}

func (s *scenario) isVictim(node int) bool {
	for _, v := range s.victims {
		if v == node {
			return true
		}
	}
	return false
}

// stuck says who is not where it should be.
func (s *scenario) stuck() string {
	var b strings.Builder
	for _, g := range s.groups {
		for _, m := range g.Members {
			if !m.Node.Crashed && m.Failure == nil && (s.hit(g) || m.next < uint64(len(g.stream.sizes))) {
				message, have, active := m.End.Progress()
				fmt.Fprintf(&b, "\ngroup %s, member %d (%s) waits: %d complete, %d blocks of %+v (active: %t)",
					g.Spec.Name, m.Rank, m.Node.Name, m.next, have, message, active)
			}
		}
	}
	return b.String()
}

// repair lets the survivors of every failed group finish what was under way, and more.
func (s *scenario) repair() error {
	s.cluster.Fabric.Heal()
	before, lacking := s.cluster.Received, 0
	s.groups = slices.DeleteFunc(s.groups, func(g *Group) bool { return len(g.Members) == 1 && g.Members[0].Node.Crashed })
	for i, g := range s.groups {
		if !s.hit(g) {
			continue
		}
		heir, err := g.Repair()
		if err != nil {
			return fmt.Errorf("repair: %w", err)
		}
		s.groups[i] = heir
		s.Repairs++
		s.Rescued += len(heir.stream.sizes) - int(heir.Members[0].next)
		lacking += heir.Lacking
	}
	s.Repaired += lacking
	if err := s.cluster.RunUntil(s.all(func(g *Group) bool { return g.Ready() && g.Done() }), finish); err != nil {
		return fmt.Errorf("repair: %w: %s", err, s.stuck())
	}
	if got := s.cluster.Received - before; got != lacking {
		return fmt.Errorf("%d blocks came in the repair, and %d lacked", got, lacking)
	}
	for _, g := range s.groups {
		g.Send(uint64(g.Spec.BlockSize * 3))
	}
	if err := s.cluster.RunUntil(s.all((*Group).Done), finish); err != nil {
		return fmt.Errorf("after the repair: %w: %s", err, s.stuck())
	}
	return nil
}

// end closes everything, and looks for words after the last.
func (s *scenario) end() error {
	for _, g := range s.groups {
		if err := g.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
	}
	return s.cluster.Run(quiet)
}
