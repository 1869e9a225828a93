package cast

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// Choice is what a job may leave open: the root chooses it when it knows the links, and tells the others.
type Choice struct {
	Algorithm Algorithm `json:"algorithm"`
	Block     int       `json:"block"`
	Stripes   int       `json:"stripes"`
	Credits   int       `json:"credits"`
	Slow      bool      `json:"slow,omitempty"` // a block takes so long that nobody should spin for the next one
	// Pace is for the simulator, where a block takes the same time every time.
	Pace time.Duration `json:"pace_ns,omitempty"`
}

// Chosen is why what a job left open was chosen.
type Chosen struct {
	Links     Links   `json:"links"`
	Predicted float64 `json:"predicted_seconds"` // of a run, by package tune, which knows links and not that members share cores
}

// Links is what is known of the links between members.
type Links struct {
	Rate    float64 `json:"bits_per_second"`
	Latency float64 `json:"latency_seconds"` // one way, of a small message
	Message float64 `json:"message_seconds"` // that a block takes beside its bytes
	Took    float64 `json:"took_seconds"`    // to measure this; 0: it was known
	Local   bool    `json:"local,omitempty"` // there are none: all members are on the root's host
}

// undecided reports whether something is still to be chosen.
func (j *Job) undecided() bool { return j.Auto || j.Block == 0 || j.Stripes == 0 || j.Credits == 0 }

// take completes a job by a choice, and says what is wrong with it. An algorithm that knows no racks does without them.
func (j *Job) take(c Choice) error {
	j.Auto, j.Algorithm, j.Block, j.Stripes, j.Credits, j.Pace, j.Slow = false, c.Algorithm, c.Block, c.Stripes, c.Credits, c.Pace, c.Slow
	if !j.Algorithm.Racks() {
		j.Racks = nil
	}
	if j.undecided() {
		return fmt.Errorf("a choice of %+v %w: something is left open", c, ErrJob)
	}
	return j.Validate()
}

// good is how much longer a choice may take, by the model, than the best one and still be as good. The model sees links, and
// not the work of hosts, which is less with fewer blocks.
const good = 1.02

// choose finds the best choice for what a job leaves open, by the cost model of package tune: of the good ones the first of
// those with the largest blocks.
func (j *Job) choose(n tune.Network) (tune.Choice, error) {
	n.Offload = j.Offload
	all := j.candidates(n.MaxBlock)
	for i := range all {
		all[i].Predicted = tune.Predict(j.tuned(), n, all[i])
	}
	best := tune.Lightest(all, good)
	if best.Predicted == math.MaxInt64 {
		return best, errors.New("no algorithm can do this job")
	}
	return best, nil
}

// choosePaced finds it for a network that behaves as the model does, down to the pace of its blocks. NICs that relay by
// themselves know no pace.
func (j *Job) choosePaced(n tune.Network) (tune.Choice, error) {
	if j.Offload || j.Block != 0 || j.Stripes != 0 || j.Credits != 0 {
		return j.choose(n)
	}
	return tune.Choose(j.tuned(), n, j.algorithms()...)
}

// tuned is the group, as the model sees it.
func (j *Job) tuned() tune.Group {
	return tune.Group{Members: len(j.Members), Size: j.Size, Racks: j.rackOf()}
}

// algorithms are those to choose from, the best first: a chain is often as fast, but its members finish one after the other,
// and one slow link slows it most. Those that are missing are never better than Pipeline.
func (j *Job) algorithms() []schedule.Algorithm {
	switch {
	case !j.Auto:
		return []schedule.Algorithm{j.Algorithm.Algorithm}
	case len(j.Racks) > 0:
		return []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain, schedule.RackPipeline, schedule.RackChain, schedule.RackStripes}
	}
	return []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain}
}

// candidates are the choices that leave alone what the job says.
func (j *Job) candidates(mostBlock int) (all []tune.Choice) {
	for _, algorithm := range j.algorithms() {
		for _, block := range j.blocks(mostBlock) {
			for _, stripes := range orElse(j.Stripes, 2, 1) {
				for _, credits := range orElse(j.Credits, AutoCredits(stripes, j.Offload)) {
					all = append(all, tune.Choice{Algorithm: algorithm, Block: block, Stripes: stripes, Credits: credits})
				}
			}
		}
	}
	return all
}

// orElse is a value that was said, or else some to choose from.
func orElse(said int, some ...int) []int {
	if said != 0 {
		return []int{said}
	}
	return some
}

// blocks are the sizes to choose from: powers of two, and the largest, that cut a message into one to a few thousand blocks.
func (j *Job) blocks(most int) (all []int) {
	const least, mostBlocks = 4 << 10, 1 << 12
	if most == 0 {
		most = 64 << 20
	}
	for block := min(least, most); ; block = min(2*block, most) {
		if j.Size/uint64(block) <= mostBlocks || block == most {
			all = append(all, block)
		}
		if uint64(block) >= j.Size || block == most {
			break
		}
	}
	return orElse(j.Block, all...)
}

// laneTCP is the name of the lane whose blocks wait for each other.
const laneTCP = "tcp"

// What limits a chosen block.
const (
	largeBlock = 1 << 20                 // the best for large messages (RDMC, figure 6)
	tcpBlock   = 2 << 20                 // over TCP within a host, where the next block often means another process on the core
	pieceBlock = 60 << 10                // that the kernel's TCP still hands on as one piece: 64 KiB, with headers
	blockTime  = 1400 * time.Microsecond // that a larger block takes on its link, at most, over TCP
	blockUnit  = 4 << 10
)

// mostBlock is how large a chosen block may be. On TCP a send that is under way fills a queue in front of the link, and
// what is behind it in the queue waits: credits, acknowledgements, the block that a peer needs for the next step. And of a
// block that the kernel cuts in two the second piece waits for word of the first: at 200 Mbit/s 16 members took 2.86 s for 64
// MiB in blocks of 56 KiB, 2.95 with 62 KiB, and 3.95 with 64 KiB. (At 1 Gbit/s 4 members took as long with 60 KiB as with 168.)
func mostBlock(lane string, l Links) int {
	switch {
	case lane != laneTCP:
		return largeBlock
	case l.Local:
		return tcpBlock
	}
	return max(int(min(l.Rate/8*blockTime.Seconds(), tcpBlock)), pieceBlock) / blockUnit * blockUnit
}

// slowBlock is what a block costs beside its bytes on slow links: at 200 Mbit/s 16 members took 0.371 s for 8 MiB in blocks of
// 16 KiB, and 0.360 in blocks of 32 to 60.
const slowBlock = 30 * time.Microsecond

// slowLinks fixes what is best on links so slow that the largest block is less than large, over TCP: one stripe. The kernel's
// queues hide the latency and the hosts' work there. At 200 Mbit/s 8 members took 1.085 × size ÷ rate for 64 MiB with one stripe
// and 1.108 with two (medians of four, on a busy machine).
func (j *Job) slowLinks(n *tune.Network) {
	if j.Slow = n.MaxBlock < largeBlock; j.Slow {
		n.Latency, n.Message = 0, slowBlock
		stripes := 1
		if !j.Auto && j.Algorithm.Algorithm == schedule.Chain {
			stripes = 2 // whose members have one link only to keep busy: 0.37 s instead of 0.72 for 8 MiB in small blocks
		}
		j.Stripes = orElse(j.Stripes, stripes)[0]
	}
}

// decide chooses for links that are joined by a lane.
func (j *Job) decide(lane string, l Links) (Choice, *Chosen, error) {
	n := tune.Network{Rate: l.Rate, Latency: duration(l.Latency), Message: duration(l.Message), MaxBlock: mostBlock(lane, l)}
	open := *j
	open.slowLinks(&n)
	c, err := open.choose(n)
	if err != nil {
		return Choice{}, nil, err
	}
	return Choice{Algorithm: Algorithm{c.Algorithm}, Block: c.Block, Stripes: c.Stripes, Credits: c.Credits, Slow: open.Slow}, &Chosen{Links: l, Predicted: c.Predicted.Seconds()}, nil
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * 1e9) }

// AutoCredits is what package rdmc takes for so many stripes. Where NICs relay by themselves it is as many as are chained ahead.
func AutoCredits(stripes int, offload bool) int {
	const chained = 64
	switch {
	case offload:
		return chained
	case stripes == 1:
		return 1
	}
	return stripes + 1
}
