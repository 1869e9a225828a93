package push

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// byRack orders hosts by their racks, those of the root's first, and says the rack of each member, the root included; nil: they are not known.
func byRack(all []*host, rootRack int, known bool) (ordered []*host, racks []int) {
	if !known {
		return all, nil
	}
	ordered = slices.Clone(all)
	slices.SortStableFunc(ordered, func(a, b *host) int {
		return order(a.rack, rootRack) - order(b.rack, rootRack)
	})
	racks = []int{rootRack}
	for _, h := range ordered {
		racks = append(racks, h.rack)
	}
	return ordered, compact(racks)
}

func order(rack, first int) int {
	if rack == first {
		return -1
	}
	return rack
}

// compact numbers racks from 0, in the order in which they come.
func compact(racks []int) (numbers []int) {
	seen := make(map[int]int)
	for _, rack := range racks {
		if _, ok := seen[rack]; !ok {
			seen[rack] = len(seen)
		}
		numbers = append(numbers, seen[rack])
	}
	return numbers
}

// rackNumbers gives each rack of a list a number, and finds that of the root: its own, which may have no host of the list, or if it is not known the first.
func rackNumbers(racks []string, own string) (numbers []int, root int) {
	seen := make(map[string]int)
	number := func(rack string) int {
		if _, ok := seen[rack]; !ok {
			seen[rack] = len(seen)
		}
		return seen[rack]
	}
	for _, rack := range racks {
		numbers = append(numbers, number(rack))
	}
	if own != "" {
		root = number(own)
	}
	return numbers, root
}

// crossBytes estimates how many bytes a schedule sends between racks, from one of fewer blocks.
func crossBytes(c tune.Choice, racks []int, l manifest.Layout) uint64 {
	if racks == nil {
		return 0
	}
	few := min(l.Blocks(), 64)
	config := schedule.Config{Algorithm: c.Algorithm, Members: len(racks), Stripes: c.Stripes}
	if c.Algorithm.Racks() {
		config.Racks = racks
	}
	sends, err := schedule.Whole(config, few)
	if err != nil {
		return 0
	}
	crossing := 0
	for _, step := range sends {
		for _, s := range step {
			if racks[s.From] != racks[s.To] {
				crossing++
			}
		}
	}
	return uint64(float64(crossing) / float64(few) * float64(l.WireSize()))
}

// stepsOf is how many steps a choice takes.
func stepsOf(c tune.Choice, members int, racks []int, blocks int) int {
	config := schedule.Config{Algorithm: c.Algorithm, Members: members, Stripes: c.Stripes}
	if c.Algorithm.Racks() {
		config.Racks = racks
	}
	part, err := schedule.New(config, 0)
	if err != nil {
		return 0
	}
	return part.Plan(blocks).Steps()
}

// groupPlan is a group as all its members are told of it.
func (p *pusher) groupPlan(all []*host) (ordered []*host, plan control.Plan) {
	ordered, racks := byRack(all, p.rootRack, p.Racks != nil)
	plan = control.Plan{
		Members: []string{rootName}, Algorithm: p.choice.Algorithm.String(), Stripes: p.choice.Stripes, Credits: p.choice.Credits,
		Stall: int64(groupStall), Way: p.way, Plain: p.Plain, Rate: p.Rate,
	}
	for _, h := range ordered {
		plan.Members = append(plan.Members, h.name)
	}
	if p.choice.Algorithm.Racks() {
		plan.Racks = racks
	}
	return ordered, plan
}

const (
	rootName   = "pusher"
	groupStall = 5 * time.Second // who gives no sign of life in a group for so long has failed
)

// makePlan is what people are told before anything is sent.
func (p *pusher) makePlan(all []*host, t *task) *Plan {
	s, l := p.source.Summary(), p.content
	plan := &Plan{
		Hosts: len(all), Files: s.Files, Bytes: s.Content, Block: l.Block, Algorithm: p.choice.Algorithm.String(), Stripes: p.choice.Stripes,
		Credits: p.choice.Credits, Way: p.way, Encrypted: encryptionOf(p.way, p.Plain), Rate: t.links.rate / 8,
		Bound: bound(t.members, l.Blocks(), l.Wire(), t.links.rate/8), Steps: stepsOf(p.choice, t.members, t.racks, l.Blocks()),
		CrossBytes: crossBytes(p.choice, t.racks, l), NotRDMA: p.notRDMA,
	}
	skipped := p.source.Skipped()
	plan.Skipped, plan.Skips = skipped.Count, skipped.Names
	if t.links.rate > 0 {
		withHashes := float64(l.Wire()) / float64(l.Block) // the model knows nothing of them
		plan.Predicted = max(plan.Bound, time.Duration(float64(p.choice.Predicted)*withHashes))
	}
	if t.racks != nil {
		plan.Racks, plan.RackOf, plan.OwnRack = slices.Max(t.racks)+1, t.racks, cmp.Or(p.OwnRack, p.Racks[0])
	}
	ordered, _ := byRack(all, p.rootRack, p.Racks != nil)
	for _, h := range ordered {
		plan.Members = append(plan.Members, h.name)
	}
	return plan
}
