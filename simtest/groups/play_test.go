package groups

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-fabric/weft/rdmc"
)

// play runs the scenario to its end, and returns the hash of the trace.
func (s *scenario) play() (hash uint64, err error) {
	s.travel = newTravel(s.config.Fabric.Jitter)
	config := s.config
	config.Fabric.Observe = s.travel.event
	if s.cluster, err = New(config); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.cluster.Close()) }()
	err = s.run()
	if s.travel.late != "" && !s.cut {
		err = errors.Join(err, errors.New(s.travel.late))
	}
	if len(s.cluster.Problems) > 0 {
		err = errors.Join(err, errors.New(strings.Join(s.cluster.Problems, "\n")))
	}
	return s.cluster.Fabric.TraceHash(), err
}

// run is one fault or none, perhaps another while the survivors repair what the first has left, and the end.
func (s *scenario) run() error {
	acts := []func() error{s.start, s.live, s.mend, s.settle, s.end}
	if s.again {
		acts = slices.Insert(acts, 3, s.strikeAgain, s.live, s.mend)
	}
	for _, act := range acts {
		if err := act(); err != nil {
			return err
		}
	}
	return nil
}

// start makes the groups, and lets the sending begin.
func (s *scenario) start() error {
	c := s.cluster
	c.expect(c.Fabric.SlowNode("n0", s.slow))
	if len(c.Nodes) > 1 {
		c.expect(c.Fabric.SlowLink("n0", "n1", s.slowLink))
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
	s.faultAt, s.struck = s.cluster.Fabric.Now(), true
	var names []string
	for _, v := range s.victims {
		names = append(names, s.cluster.Nodes[v].Name)
		if !s.cut {
			s.cluster.Crash(v)
		}
	}
	if !s.cut {
		return
	}
	s.cluster.expect(s.cluster.Fabric.Partition(names))
}

// live waits until each group has completed or failed, whatever it has to, and sees that it did so in time.
func (s *scenario) live() error {
	settled := func() bool {
		return (s.victims == nil || s.struck) && s.all(func(g *Group) bool {
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

// mend lets the survivors of every failed group finish what was under way.
func (s *scenario) mend() error {
	s.cluster.Fabric.Heal()
	s.before, s.lacking = s.cluster.Received, 0
	s.groups = slices.DeleteFunc(s.groups, func(g *Group) bool {
		return !slices.ContainsFunc(g.Members, func(m *Member) bool { return !m.Node.Crashed })
	})
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
		s.lacking += heir.Lacking
	}
	s.Repaired += s.lacking
	return nil
}

// strikeAgain lets one more node crash, while the others repair.
func (s *scenario) strikeAgain() error {
	for _, node := range s.random.Perm(len(s.cluster.Nodes)) {
		if !s.cluster.Nodes[node].Crashed {
			s.victims = []int{node}
			break
		}
	}
	s.cut, s.struck = false, false
	s.cluster.Fabric.At(s.cluster.Fabric.Now().Add(time.Duration(s.random.IntN(20_000))), s.strike)
	return nil
}

// settle waits for the repair, sees that nothing came that was there, and that the groups are good for more.
func (s *scenario) settle() error {
	if err := s.cluster.RunUntil(s.all(func(g *Group) bool { return g.Ready() && g.Done() }), finish); err != nil {
		return fmt.Errorf("repair: %w: %s", err, s.stuck())
	}
	if got := s.cluster.Received - s.before; got != s.lacking {
		return fmt.Errorf("%d blocks came in the repair, and %d lacked", got, s.lacking)
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
