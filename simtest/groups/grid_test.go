package groups

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// point is one message to one group on one network.
type point struct {
	members, racks int // nodes are dealt to the racks in order: 0 0 0 1 1 1
	size           uint64
	rate           float64       // bits a second
	message        time.Duration // that a message takes its NIC; 0: 7 ns
	more           time.Duration // latency beyond the simulator's own of about 1 µs
	narrow         float64       // how many times the rate of its uplink the members of a rack have together; 0: no bottleneck
	offload        bool          // NICs relay by themselves
}

func (p point) String() string {
	s := fmt.Sprintf("%3d members, %6d KiB, %3.0f gbit, %v a message, %v latency", p.members, p.size>>10, p.rate/1e9,
		p.network().Message, p.network().Latency)
	if p.racks > 1 {
		s += fmt.Sprintf(", %d racks, uplinks 1:%g", p.racks, p.narrow)
	}
	if p.offload {
		s += ", offload"
	}
	return s
}

func (p point) rack(i int) int { return i * p.racks / p.members }

func (p point) rackOf() (racks []int) {
	for i := range p.members {
		racks = append(racks, p.rack(i))
	}
	return racks
}

func (p point) uplink() float64 {
	if p.narrow == 0 {
		return 0
	}
	return float64(p.members/p.racks) * p.rate / p.narrow
}

func (p point) costs() *sim.Costs {
	c := sim.DefaultCosts()
	c.Wire += float64(p.more)
	if p.message > 0 {
		c.Gap = float64(p.message)
	}
	return &c
}

// network is what somebody would measure.
func (p point) network() tune.Network {
	c := p.costs()
	return tune.Network{Rate: p.rate, Message: time.Duration(c.Gap), Uplink: p.uplink(), Offload: p.offload,
		Latency: time.Duration(c.Post + c.PCIe + c.Wire + c.Switch + c.PCIe + c.ToMemory + c.Progress)}
}

// wire is how long bytes take on a link.
func (p point) wire(bytes int) time.Duration { return time.Duration(float64(bytes) * 8e9 / p.rate) }

// mostBlocks is how many blocks the message has at most, and leastBlock how large they are at least, auto's too.
func (p point) mostBlocks() int { return min(4096, mostTransfers/p.members) }

func (p point) leastBlock() int {
	block := tune.MinBlock
	for p.size > uint64(block)*uint64(p.mostBlocks()) {
		block *= 2
	}
	return block
}

func (p point) group() tune.Group {
	return tune.Group{Members: p.members, Size: p.size, Racks: p.rackOf()}
}

const (
	kib = 1 << 10
	mib = 1 << 20

	// mostTransfers is how many blocks are sent at most, for all members.
	mostTransfers = 32 << 10
)

var rates = []float64{1e9, 10e9, 40e9, 100e9}

func wholeGrid() (grid []point) {
	for _, members := range []int{3, 8, 13, 64} {
		for _, size := range []uint64{64 * kib, mib, 8 * mib, 64 * mib} {
			grid = append(grid, networks(members, size, rates...)...)
		}
	}
	grid = append(grid, networks(8, 256*mib, rates...)...)
	for _, size := range []uint64{mib, 8 * mib, 64 * mib} {
		for _, p := range networks(64, size, 40e9) {
			p.racks, p.narrow = 8, 4
			grid = append(grid, p)
			p.racks, p.members = 4, 16
			grid = append(grid, p)
		}
	}
	return grid
}

// networks are the same message on all networks.
func networks(members int, size uint64, rates ...float64) (grid []point) {
	for _, rate := range rates {
		for _, message := range []time.Duration{0, 5 * time.Microsecond} {
			for _, more := range []time.Duration{0, 20 * time.Microsecond} {
				grid = append(grid, point{members: members, racks: 1, size: size, rate: rate, message: message, more: more})
			}
		}
	}
	return grid
}

func partOfGrid() (grid []point) {
	for i, p := range wholeGrid() {
		if p.members <= 16 && p.size <= 8*mib && i%3 == 0 {
			grid = append(grid, p)
		}
	}
	return grid
}

// offGrid are points between those of the grid.
func offGrid() (points []point) {
	for i, members := range []int{5, 11, 27, 100} {
		for j, size := range []uint64{300_000, 3_000_000, 40_000_000} {
			rate, message := []float64{25e9, 56e9}[(i+j)%2], []time.Duration{0, 2 * time.Microsecond}[i/2]
			for _, more := range []time.Duration{0, 7 * time.Microsecond} {
				points = append(points, point{members: members, racks: 1, size: size, rate: rate, message: message, more: more})
			}
		}
	}
	return points
}

// humps are points at which blocks of several stripes may meet in every turn.
func humps(size uint64) (points []point) {
	for _, members := range []int{8, 16, 32} {
		points = append(points, point{members: members, racks: 1, size: size, rate: 100e9})
	}
	return points
}

// relayed are points at which NICs relay by themselves.
func relayed() (points []point) {
	for _, members := range []int{8, 12} {
		points = append(points, point{members: members, racks: 1, size: 100_000_000, rate: 100e9, offload: true})
	}
	return points
}
