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

// Job is what all members have to know. What is left open is chosen by the root, when it knows the links.
type Job struct {
	Members   []string      `json:"members"`        // names, each once; the first is the root
	Size      uint64        `json:"size"`           // of a message, in bytes
	Block     int           `json:"block"`          // bytes; 0: to be chosen
	Auto      bool          `json:"auto,omitempty"` // the algorithm is to be chosen
	Algorithm Algorithm     `json:"algorithm"`
	Racks     []int         `json:"racks,omitempty"`   // members of each rack, in their order
	Stripes   int           `json:"stripes"`           // 0: to be chosen
	Credits   int           `json:"credits"`           // 0: to be chosen
	Pace      time.Duration `json:"pace_ns,omitempty"` // that a block takes on its link, if that is certain; 0: it is not
	Slow      bool          `json:"slow,omitempty"`    // a block takes so long that nobody should spin for the next one
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

// Validate says what is wrong with a job.
func (j *Job) Validate() error {
	for _, c := range []struct {
		what              string
		value, from, upTo int64
		open              bool // 0 stands for what is to be chosen
	}{
		{"members", int64(len(j.Members)), 2, MaxMembers, false},
		{"block size", int64(j.Block), MinBlock, MaxBlock, true},
		{"stripes", int64(j.Stripes), 1, MaxStripes, true},
		{"credits", int64(j.Credits), 1, MaxCredits, true},
		{"runs", int64(j.Runs), 1, MaxRuns, false},
	} {
		if c.value == 0 && c.open {
			continue
		}
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
	if j.Auto && len(j.Racks) == 0 {
		return nil
	}
	if !j.Auto && !j.Algorithm.Racks() {
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

// Possible says why the group of a job cannot have the shape that is asked for.
func (j *Job) Possible() error {
	if j.Auto {
		return nil
	}
	shape := j.schedule()
	shape.Stripes = max(1, shape.Stripes)
	_, err := schedule.New(shape, 0)
	return err
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

// groups are the configurations of a member's groups.
func (j *Job) groups(rank int) []rdmc.Config {
	all := []rdmc.Config{j.group(rank)}
	if j.copies(rank) {
		all = append(all, j.copyGroup(rank))
	}
	return all
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

// waiting is how members wait, as the loop has it. On slow links a hybrid sleeps at once: spinning for even 50 µs after each
// block, credit and acknowledgement takes as much of the processors as all other work.
func (j *Job) waiting() loop.Waiting {
	switch {
	case j.Wait == perftest.Polling:
		return loop.Polling()
	case j.Wait == perftest.Sleeping || j.Slow:
		return loop.Sleeping()
	}
	return loop.Hybrid(spin)
}
