package member

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// How far ends may be out of step with their disks, in bytes and in blocks at least.
const (
	slackBytes  = 16 << 20
	slackBlocks = 8
)

// MemoryNeeded is how many bytes of Config.Memory a group goes well with, at any of its members. With less, down to about half, it is slower;
// then Form refuses.
func MemoryNeeded(plan control.Plan, l manifest.Layout) int {
	root, other := shapeOf(plan, 0, l), shapeOf(plan, 1, l)
	slots := max(readAhead(l)+rdmc.StoreRoom(root), rdmc.StoreRoom(other)+slack(l))
	return newCut(l).bytes(slots)
}

// slack is how many blocks more than a group needs let disks be out of step.
func slack(l manifest.Layout) int { return min(max(slackBytes/l.Block, slackBlocks), l.Blocks()) }

// readAhead is how many blocks the root reads ahead: the next page, at least, while one is sent.
func readAhead(l manifest.Layout) int { return max(slack(l), 2*pageBlocks(l)) }

// least is how many blocks at a time a member must be able to hold, so that nothing gets stuck.
func least(config rdmc.Config, l manifest.Layout) int {
	if config.Self == 0 {
		return max(pageBlocks(l), rdmc.StoreRoom(config))
	}
	return rdmc.StoreRoom(config)
}

// pageBlocks is how many blocks the largest page of a stream has.
func pageBlocks(l manifest.Layout) int { return min(l.PageBlocks, l.Blocks()) }

// shapeOf is what a plan says of a group, but for what is unfinished. An algorithm that nobody knows becomes the first.
func shapeOf(plan control.Plan, rank int, l manifest.Layout) rdmc.Config {
	algorithm, _ := schedule.ParseAlgorithm(plan.Algorithm)
	config := rdmc.Config{
		Members: plan.Members, Self: rank, Algorithm: algorithm, Racks: plan.Racks, Stripes: plan.Stripes, BlockSize: l.Wire(),
		Credits: plan.Credits, Sends: plan.Sends, Pace: time.Duration(plan.Pace), Stall: time.Duration(plan.Stall), Gate: true,
		Reload: holdsLong(algorithm),
	}
	if plan.Finish {
		config.Unfinished = make([]rdmc.Unfinished, 1)
	}
	return config
}

// holdsLong reports whether blocks would have to stay in memory for long before they are sent for the last time.
func holdsLong(a schedule.Algorithm) bool {
	return a != schedule.Pipeline && a != schedule.Circulant && a != schedule.Chain
}

// config is what rdmc must know of a group.
func (g *Group) config() (rdmc.Config, error) {
	if err := g.check(); err != nil {
		return rdmc.Config{}, err
	}
	l := g.Streams[0]
	config := shapeOf(g.Plan, g.Rank, l)
	config.Name = fmt.Sprintf("epoch %d, %s, %s", g.Epoch, l.Stream, g.Plan.Algorithm)
	if !g.Plan.Finish {
		return config, nil
	}
	have, err := g.have()
	m := rdmc.Message{Size: l.WireSize(), BlockSize: l.Wire()}
	config.Unfinished = []rdmc.Unfinished{{Message: m, Have: have}}
	return config, err
}

// check looks at what an owner, or a peer behind it, has asked for. The rest is checked by rdmc.
func (g *Group) check() error {
	switch {
	case g.Blocks == nil || g.Notify == nil || len(g.Streams) == 0:
		return fmt.Errorf("a group needs Blocks, Notify and Streams: %w", ErrArgument)
	case g.Rank < 0 || g.Rank >= len(g.Plan.Members):
		return fmt.Errorf("rank %d in a group of %d: %w", g.Rank, len(g.Plan.Members), ErrArgument)
	case g.Plan.Finish && len(g.Streams) != 1:
		return fmt.Errorf("%d streams where one is to be finished: %w", len(g.Streams), ErrArgument)
	case g.Plan.Pace < 0 || g.Plan.Stall < 0:
		return fmt.Errorf("a pace of %d and a stall of %d ns: %w", g.Plan.Pace, g.Plan.Stall, ErrArgument)
	}
	for _, l := range g.Streams {
		if l != manifest.NewLayout(l.Stream, l.Size, max(g.Streams[0].Block, 1)) {
			return fmt.Errorf("a stream with the layout %+v, where blocks have %d bytes: %w", l, g.Streams[0].Block, ErrArgument)
		}
	}
	_, err := schedule.ParseAlgorithm(g.Plan.Algorithm)
	return err
}

// have is what each member holds of the stream that is to be finished. Where nothing is said, the root has all, and others nothing.
func (g *Group) have() ([]schedule.Set, error) {
	blocks := g.Streams[0].Blocks()
	if len(g.Plan.Have) != len(g.Plan.Members) {
		return nil, fmt.Errorf("what %d members have, of %d: %w", len(g.Plan.Have), len(g.Plan.Members), ErrArgument)
	}
	sets := make([]schedule.Set, len(g.Plan.Have))
	for rank, bytes := range g.Plan.Have {
		var err error
		switch {
		case len(bytes) > 0:
			sets[rank], err = schedule.ParseSet(bytes, blocks)
		case rank == 0:
			sets[rank] = schedule.FullSet(blocks)
		default:
			sets[rank] = schedule.NewSet(blocks)
		}
		if err == nil && sets[rank].Len() != blocks {
			err = fmt.Errorf("it is for %d blocks, not %d: %w", sets[rank].Len(), blocks, ErrArgument)
		}
		if err != nil {
			return nil, fmt.Errorf("what member %d has: %w", rank, err)
		}
	}
	return sets, nil
}
