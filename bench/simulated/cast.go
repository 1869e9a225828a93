package simulated

import (
	"context"
	"fmt"
	"math/bits"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

const (
	rate = 40e9 // bits a second, as Sierra has (RDMC, section 5.1)
	mb   = 1_000_000
)

// place is a group and the network it is on.
type place struct {
	members int
	size    uint64
	fabric  cast.Fabric
	block   int // bytes; 0: chosen
}

// patience is for members that wait, in virtual time.
const patience = time.Hour

// run sends one message in a way.
func (p place) run(ctx context.Context, c tune.Choice) (*cast.Report, error) {
	job := &cast.Job{Size: p.size, Block: c.Block, Algorithm: cast.Algorithm{Algorithm: c.Algorithm}, Stripes: c.Stripes,
		Credits: c.Credits, Pace: c.Pace, Wait: perftest.Polling, Runs: 1, Rate: rate, Timeout: patience}
	for i := range p.members {
		job.Members = append(job.Members, fmt.Sprint("n", i))
	}
	if c.Algorithm.Racks() {
		job.Racks = p.fabric.Racks
	}
	debug.FreeOSMemory() // what the run before it has left would count for this one
	report, err := cast.Simulate(ctx, job, p.fabric, cast.Watch{})
	if err == nil && report.Median == nil {
		err = fmt.Errorf("%v: the simulation has no result", c.Algorithm)
	}
	return report, err
}

// choose finds the best way among some algorithms.
func (p place) choose(among ...schedule.Algorithm) (tune.Choice, error) {
	group := tune.Group{Members: p.members, Size: p.size, Racks: p.rackOf()}
	network := tune.Network{Rate: rate, Latency: p.fabric.OneWay(), Message: p.fabric.Message, Uplink: p.fabric.Uplink,
		MinBlock: p.block, MaxBlock: p.block}
	return tune.Choose(group, network, among...)
}

func (p place) rackOf() (racks []int) {
	for rack, members := range p.fabric.Racks {
		racks = append(racks, slices.Repeat([]int{rack}, members)...)
	}
	return racks
}

// bound is the least time in which so many blocks can be everywhere: (k + ⌈log₂ n⌉ − 1) / k · size / rate, in seconds.
func (p place) bound(blocks int) float64 {
	steps := blocks + bits.Len(uint(p.members-1)) - 1
	return float64(steps) / float64(blocks) * float64(p.size) * 8 / rate
}

// way is a column of the table.
type way struct {
	name  string
	among []schedule.Algorithm // nil: all
}

// ways are those that have to reach something, and the chain for comparison.
var ways = []way{
	{"pipeline", []schedule.Algorithm{schedule.Pipeline}},
	{"circulant", []schedule.Algorithm{schedule.Circulant}},
	{"auto", nil},
	{"chain", []schedule.Algorithm{schedule.Chain}},
}

// describe says how a message was sent.
func describe(c tune.Choice) string {
	return fmt.Sprintf("%v, blocks of %v, stripes/credits %d/%d", c.Algorithm, units.Size(c.Block), c.Stripes, c.Credits)
}
