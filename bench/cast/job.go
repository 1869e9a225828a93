package cast

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// ErrJob: a job makes no sense.
var ErrJob = errors.New("makes no sense")

// Limits of a job. What else limits it, package rdmc knows.
const (
	MaxRuns    = 10_000
	MaxMembers = 1 << 16 // in the simulator
	// MaxProcesses is how many members there can be outside of it: each has a session with each other, and hears the
	// addresses of all in one note.
	MaxProcesses = 1 << 10
	MaxCredits   = 256
	MaxStripes   = 64
	MinBlock     = 64
	MaxBlock     = 256 << 20
	MaxSize      = 1 << 46 // what the simulator has room for
)

// Job is what all members have to know.
type Job struct {
	Members   []string      `json:"members"` // names, each once; the first is the root
	Size      uint64        `json:"size"`    // of a message, in bytes
	Block     int           `json:"block"`   // bytes
	Algorithm Algorithm     `json:"algorithm"`
	Racks     []int         `json:"racks,omitempty"` // members of each rack, in their order
	Stripes   int           `json:"stripes"`
	Credits   int           `json:"credits"`
	Pace      time.Duration `json:"pace_ns,omitempty"` // of rdmc.Config: that a block takes on its link, where blocks shall not share it
	Offload   bool          `json:"offload"`
	Wait      perftest.Wait `json:"wait"`
	Runs      int           `json:"runs"`            // that count; one more before them warms up, if there are several
	Rate      float64       `json:"rate,omitempty"`  // of a link, in bits a second; 0: one copy is measured
	Seed      uint64        `json:"seed"`            // of the contents
	Timeout   time.Duration `json:"peer_timeout_ns"` // of a member that gives no sign of life
}

// Algorithm is a schedule's, by its name.
type Algorithm struct{ schedule.Algorithm }

// MarshalText implements encoding.TextMarshaler.
func (a Algorithm) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Algorithm) UnmarshalText(text []byte) (err error) {
	a.Algorithm, err = schedule.ParseAlgorithm(string(text))
	return err
}

// What limits an automatic block.
const (
	largeBlock = 1 << 20                 // the best for large messages (RDMC, figure 6)
	localBlock = 2 << 20                 // over TCP within a host, where the next block often means another process on the core
	tcpBlock   = 32 << 10                // between hosts over TCP, when nothing is known of the links
	blockTime  = 1400 * time.Microsecond // that a block takes on its link, at most
)

// MostBlock is how large an automatic block may be. On TCP a send that is under way fills a queue in front of the link, and
// what is behind it in the queue waits: credits, acknowledgements, the block that a peer needs for the next step. On a
// busy machine, at 200 Mbit/s, 8 members took 1.01 to 1.06 × one copy with two blocks of 32 KiB, 1.3 ms each, under way, and
// 1.09 to 1.5 × with 64 KiB. A rate of 0 is unknown; tcp is whether it was asked for, apart whether members are on different
// hosts, without RDMA.
func MostBlock(rate float64, tcp, apart bool) int {
	most := largeBlock
	switch {
	case apart:
		most = tcpBlock
	case tcp:
		most = localBlock
	}
	if rate > 0 {
		bytes := rate / 8 * blockTime.Seconds()
		most = 1 << (bits.Len64(uint64(min(max(bytes, 4<<10), largeBlock))) - 1)
	}
	return most
}

// AutoBlock is a good block size for a message. A block costs a fixed time beside its bytes, and the last blocks of a
// message leave links idle. So a message has 16 blocks, but none is larger than most, or smaller than 64 KiB unless most is.
func AutoBlock(size uint64, most int) int {
	const least, pieces = 64 << 10, 16
	block := 1 << bits.Len64(max(size, pieces)/pieces-1) // rounded up to a power of two
	return min(max(block, least), most)
}

// AutoStripes is how many schedules take turns: two, to hide latency; but one on links that are known to be so slow that the
// latency of a block does not show beside its time. At 200 Mbit/s, where a block of 32 KiB takes 1.3 ms, 8 members took 1.085
// × size ÷ rate with one stripe and 1.108 with two (medians of four runs, 64 MiB).
func AutoStripes(rate float64, block int) int {
	const slow = time.Millisecond
	if rate > 0 && float64(block)*8/rate >= slow.Seconds() {
		return 1
	}
	return 2
}

// AutoCredits is what package rdmc takes for so many stripes.
func AutoCredits(stripes int) int {
	if stripes == 1 {
		return 1
	}
	return stripes + 1
}

// Validate says what is wrong with a job.
func (j *Job) Validate() error {
	for _, c := range []struct {
		what              string
		value, from, upTo int64
	}{
		{"members", int64(len(j.Members)), 2, MaxMembers},
		{"block size", int64(j.Block), MinBlock, MaxBlock},
		{"stripes", int64(j.Stripes), 1, MaxStripes},
		{"credits", int64(j.Credits), 1, MaxCredits},
		{"runs", int64(j.Runs), 1, MaxRuns},
	} {
		if c.value < c.from || c.value > c.upTo {
			return fmt.Errorf("%s: %d %w: it is between %d and %d", c.what, c.value, ErrJob, c.from, c.upTo)
		}
	}
	if j.Size > MaxSize {
		return fmt.Errorf("size: %d bytes %w: at most %d", j.Size, ErrJob, uint64(MaxSize))
	}
	return errors.Join(j.validateRest(), j.validateRacks())
}

func (j *Job) validateRest() error {
	switch {
	case j.Timeout <= 0 || j.Timeout > time.Hour:
		return fmt.Errorf("peer timeout: %v %w: it is above 0 and up to an hour", j.Timeout, ErrJob)
	case j.Pace < 0 || j.Pace > time.Hour:
		return fmt.Errorf("pace: %v %w: it is from 0 up to an hour", j.Pace, ErrJob)
	case !(j.Rate >= 0 && j.Rate <= 1e15):
		return fmt.Errorf("rate: %v bits a second %w", j.Rate, ErrJob)
	}
	return nil
}

func (j *Job) validateRacks() error {
	if !j.Algorithm.Racks() {
		if len(j.Racks) > 0 {
			return fmt.Errorf("racks: %v %w with them: leave them out, or take rack-chain, rack-pipeline or rack-stripes", j.Algorithm, ErrJob)
		}
		return nil
	}
	return fits(j.Racks, len(j.Members))
}

// fits says why there cannot be such racks.
func fits(racks []int, members int) error {
	sum := 0
	for _, n := range racks {
		if n < 1 || n > MaxMembers {
			return fmt.Errorf("racks: one of %d members %w", n, ErrJob)
		}
		sum += n
	}
	if sum != members {
		return fmt.Errorf("racks: %d members in all %w: the group has %d, with the root", sum, ErrJob, members)
	}
	return nil
}

// Blocks is how many blocks a message has.
func (j *Job) Blocks() int { return rdmc.Message{Size: j.Size, BlockSize: j.Block}.Blocks() }

// BoundSteps is the least number of steps in which all members can have all blocks: k + ⌈log₂ n⌉ − 1 (RDMC, section 4.3).
func (j *Job) BoundSteps() int { return j.Blocks() + bits.Len(uint(len(j.Members)-1)) - 1 }

// schedule is the shape of the group.
func (j *Job) schedule() schedule.Config {
	return schedule.Config{Algorithm: j.Algorithm.Algorithm, Members: len(j.Members), Racks: j.rackOf(), Stripes: j.Stripes}
}

// Steps is how many steps the algorithm takes, or an error if it cannot be used for such a group.
func (j *Job) Steps() (int, error) {
	part, err := schedule.New(j.schedule(), 0)
	if err != nil {
		return 0, err
	}
	return part.Plan(j.Blocks()).Steps(), nil
}

func (j *Job) rackOf() []int { return rackOf(j.Racks) }

// rackOf is the rack of each member.
func rackOf(racks []int) (of []int) {
	for rack, members := range racks {
		of = append(of, slices.Repeat([]int{rack}, members)...)
	}
	return of
}

// runs is how many there are, with the one that warms up.
func (j *Job) runs() int {
	if j.Runs > 1 {
		return j.Runs + 1
	}
	return 1
}

// group is the configuration of the group as a member sees it, without what it calls.
func (j *Job) group(rank int) rdmc.Config {
	return rdmc.Config{Name: "multicast", Members: j.Members, Self: rank, Algorithm: j.Algorithm.Algorithm, Racks: j.rackOf(),
		Stripes: j.Stripes, BlockSize: j.Block, Offload: j.Offload, Credits: j.Credits, Pace: j.Pace, MaxMessage: max(j.Size, 1), Stall: j.Timeout}
}

// copyGroup is the group of the plain copy that runs are compared with: from the root to one member.
func (j *Job) copyGroup(rank int) rdmc.Config {
	c := j.group(rank)
	c.Name, c.Members, c.Algorithm, c.Racks, c.Stripes, c.Pace = "copy", j.Members[:2], schedule.Chain, nil, 1, 0
	return c
}

// copies reports whether a member takes part in the plain copy.
func (j *Job) copies(rank int) bool { return j.Rate == 0 && rank < 2 }

// spin is how long a member looks for the next block before it sleeps. RDMC (section 4.2) takes 50 ms. With 1 ms instead of
// the loop's 50 µs, 4 processes on 2 cores took a sixth less time over TCP, and with 50 ms no less than that.
const spin = time.Millisecond

// waitings are the ways to wait, as the loop has them.
var waitings = map[perftest.Wait]loop.Waiting{perftest.Polling: loop.Polling(), perftest.Sleeping: loop.Sleeping(), perftest.Hybrid: loop.Hybrid(spin)}
