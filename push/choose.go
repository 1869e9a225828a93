package push

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// links is what is known of the links between members.
type links struct {
	rate    float64       // bits a second; 0: not known
	isMost  bool          // nobody sends faster: it was said, or the links themselves were measured
	latency time.Duration // one way, of a small message
	local   bool          // there are none: all members are on this host
}

// task is what a choice is for.
type task struct {
	members   int
	racks     []int // of each member; nil: not known
	size      uint64
	way       string
	links     links
	algorithm string // that was asked for, or Auto
	block     int    // that was asked for; 0: any
	before    int    // block of an earlier push of the same source; 0: none is known
	memory    int    // bytes that the blocks of a member may take
}

// What limits a chosen block. Over TCP a block that is under way holds up credits and the block that a peer needs next; the kernel hands
// on what fits into 64 KiB as one piece, so less gains nothing.
const (
	largeBlock  = 1 << 20                 // the best for large messages (RDMC, figure 6)
	pieceBlock  = 60 << 10                // that TCP still hands on as one piece
	blockTime   = 1400 * time.Microsecond // that a larger block takes on its link, at most, over TCP
	guessedRate = 10e9                    // bits a second of links of which nothing is known
	worthRacks  = 1.5                     // how much longer a choice may take that sends little from rack to rack
	worthHashes = 1.1                     // how much longer a choice may take for which hashes are known, here and at the hosts
	asGood      = 1.02                    // how much longer a choice may take, by the model, which sees links and not hosts' work, and be as good
)

// networkOf is what the model of package tune needs to know.
func (t *task) network() tune.Network {
	n := tune.Network{Rate: t.links.rate, Latency: t.links.latency, Message: 8 * time.Microsecond, MaxBlock: t.mostBlock()}
	if n.Rate == 0 {
		n.Rate = guessedRate
	}
	if n.Latency == 0 {
		n.Latency = 20 * time.Microsecond
	}
	if n.MaxBlock < largeBlock { // slow links, whose queues in the kernel hide latency and hosts' work
		n.Latency, n.Message = 0, 30*time.Microsecond
	}
	return n
}

// mostBlock is how large the payload of a chosen block may be. Wire sizes are powers of two, so that a push that is repeated has the same blocks although
// its links are never measured to be quite the same.
func (t *task) mostBlock() int {
	if t.way == wayIBV || t.links.local || t.links.rate == 0 { // by the way shm, too, bytes between hosts go over TCP
		return largeBlock
	}
	wire := pieceBlock
	for next := 128 << 10; next <= largeBlock && float64(next) <= t.links.rate/8*blockTime.Seconds(); next *= 2 {
		wire = next
	}
	return (wire - manifest.NewLayout(manifest.ContentStream, t.size, pieceBlock).Header()) / control.BlockUnit * control.BlockUnit
}

// leastBlock is how small a block may be, so that there are not too many: to plan a repair of, or to keep the hashes of.
func (t *task) leastBlock() int {
	most := min(control.MaxBlocks, schedule.MaxRepair/t.members)
	least := max(control.MinBlock, roundUp(int(t.size/uint64(most))+1))
	for least < control.MaxBlock && !t.hashesFit(least) {
		least = min(2*least, control.MaxBlock)
	}
	return least
}

// hashesFit reports whether an agent can keep the hashes of all blocks of a size, and of another push like this one.
func (t *task) hashesFit(block int) bool {
	l := manifest.NewLayout(manifest.ContentStream, t.size, block)
	return uint64(l.Pages())*uint64(l.Header()) <= control.PagesBudget/2
}

func roundUp(block int) int {
	return (block + control.BlockUnit - 1) / control.BlockUnit * control.BlockUnit
}

// choose finds the best way to do a task.
func (t *task) choose() (tune.Choice, error) {
	g := tune.Group{Members: t.members, Size: max(1, t.size), Racks: t.racks}
	n := t.network()
	best, ok := t.bestOf(g, n, t.blocks(n.MaxBlock))
	if !ok {
		return best, errors.New("no block size fits both the memory that agents have for blocks and that for their hashes: push less at a time, or to fewer hosts")
	}
	if best.Predicted == math.MaxInt64 {
		return best, fmt.Errorf("algorithm %s cannot serve this group", t.algorithm)
	}
	if t.mayRepeat(n.MaxBlock) {
		if c, ok := t.bestOf(g, n, []int{t.before}); ok && float64(c.Predicted) <= worthHashes*float64(best.Predicted) {
			return c, nil
		}
	}
	return best, nil
}

// mayRepeat reports whether the blocks of the earlier push are of a size that could be chosen, up to the next power of two. It was read from the name
// of a file: agents refuse what is not a size of blocks.
func (t *task) mayRepeat(mostBlock int) bool {
	return t.block == 0 && t.before%control.BlockUnit == 0 && t.before >= t.leastBlock() && t.before <= min(5*mostBlock/2, control.MaxBlock)
}

// bestOf is the best choice with blocks of some sizes, if any fits.
func (t *task) bestOf(g tune.Group, n tune.Network, blocks []int) (best tune.Choice, ok bool) {
	all := t.candidates(blocks, n.MaxBlock)
	if len(all) == 0 {
		return best, false
	}
	for i := range all {
		all[i].Predicted = tune.Predict(g, n, all[i])
	}
	return t.sparing(all, tune.Lightest(all, asGood)), true
}

// sparing is the choice that sends each rack everything once, where racks are known: if it takes much longer than the best, that. The model knows
// nothing of the links between racks, which others use as well.
func (t *task) sparing(all []tune.Choice, best tune.Choice) tune.Choice {
	few := slices.DeleteFunc(slices.Clone(all), func(c tune.Choice) bool { return !c.Algorithm.Racks() && c.Algorithm != schedule.Chain })
	if t.racks == nil || slices.Max(t.racks) == 0 || len(few) == 0 {
		return best
	}
	if c := tune.Lightest(few, asGood); float64(c.Predicted) <= worthRacks*float64(best.Predicted) {
		return c
	}
	return best
}

// candidates are the choices that leave alone what was asked for, and fit into memory.
func (t *task) candidates(blocks []int, mostBlock int) (all []tune.Choice) {
	for _, algorithm := range t.algorithms() {
		for _, block := range blocks {
			for _, stripes := range t.stripes(algorithm, mostBlock) {
				c := tune.Choice{Algorithm: algorithm, Block: block, Stripes: stripes, Credits: creditsFor(stripes)}
				if t.fits(c) {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// creditsFor is what package rdmc takes for so many stripes.
func creditsFor(stripes int) int {
	if stripes == 1 {
		return 1
	}
	return stripes + 1
}

// stripes are the numbers of stripes to choose from: one is best where the kernel's queues hide latency, but for a chain, whose members have one
// link only to keep busy.
func (t *task) stripes(algorithm schedule.Algorithm, mostBlock int) []int {
	if mostBlock < largeBlock && algorithm != schedule.Chain {
		return []int{1}
	}
	return []int{2, 1}
}

// algorithms are those to choose from, the best first: a chain is often as fast, but one slow link slows it most.
func (t *task) algorithms() []schedule.Algorithm {
	if a, err := schedule.ParseAlgorithm(t.algorithm); err == nil {
		return []schedule.Algorithm{a}
	}
	flat := []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain}
	if t.racks == nil {
		return flat
	}
	return append([]schedule.Algorithm{schedule.RackPipeline, schedule.RackStripes, schedule.RackChain}, flat...)
}

// blocks are the sizes to choose from: powers of two, and the largest.
func (t *task) blocks(most int) (all []int) {
	if t.block != 0 {
		return []int{t.block}
	}
	least := t.leastBlock()
	most = max(most, least)
	for block := least; block < most && block <= control.MaxBlock; block *= 2 {
		all = append(all, block)
	}
	if most <= control.MaxBlock {
		all = append(all, most)
	}
	return all
}

// fits reports whether the memory of a member is enough for a choice.
func (t *task) fits(c tune.Choice) bool {
	plan := control.Plan{Members: make([]string, t.members), Algorithm: c.Algorithm.String(), Stripes: c.Stripes, Credits: c.Credits}
	if c.Algorithm.Racks() {
		plan.Racks = t.racks
	}
	l := manifest.NewLayout(manifest.ContentStream, t.size, c.Block)
	whole := member.MemoryNeeded(plan, l)
	finishing(&plan)
	return l.Blocks() <= control.MaxBlocks && t.hashesFit(c.Block) && max(whole, member.MemoryNeeded(plan, l)) <= t.memory
}

// bound is how long the best possible schedule takes for so many blocks at a rate in bytes a second: the root needs the time of each block, and the
// last one then reaches the others by doubling.
func bound(members, blocks, block int, rate float64) time.Duration {
	if rate <= 0 || members < 2 {
		return 0
	}
	steps := blocks + bits.Len(uint(members-1)) - 1
	return time.Duration(float64(steps) * float64(block) / rate * 1e9)
}
