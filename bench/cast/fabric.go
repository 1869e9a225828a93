package cast

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// Limits of a simulated network.
const (
	MaxMessage = time.Second // that a message may take beside its bytes, and its latency
	MaxSlow    = 1 << 16
	leastShare = 1e-6 // of a rate that is left to what is slow
)

// Fabric is what is special about a simulated network. The zero Fabric is a flat one of links of Job.Rate, with the costs of
// package sim.
type Fabric struct {
	Racks   []int         `json:"racks,omitempty"`      // members of each rack, in their order, whether the algorithm knows of them or not; nil: Job.Racks
	Uplink  float64       `json:"uplink,omitempty"`     // bits a second between a rack and all others, each way; 0: never a bottleneck
	Message time.Duration `json:"message_ns,omitempty"` // that each message, credits too, takes its NIC; 0: the simulator's own 7 ns
	Latency time.Duration `json:"latency_ns,omitempty"` // from posting a small message until its receiver sees it, in a rack; 0: the simulator's own
	Slow    []Slow        `json:"slow,omitempty"`
}

// Slow is a node, or the link between two, that has only a part of its rate.
type Slow struct {
	Node   int     `json:"node"`
	To     int     `json:"to"` // the other node of a link; -1: it is the node itself
	Factor float64 `json:"factor"`
}

// Oversubscribed is the uplink of racks whose members together have so many times its rate. All racks have the same, in the
// simulator and in the cost model: that of the smallest, which is the narrowest.
func Oversubscribed(racks []int, rate, times float64) float64 {
	if len(racks) == 0 || times <= 0 {
		return 0
	}
	return float64(slices.Min(racks)) * rate / times
}

// Validate says what is wrong with a network, or with a job on it.
func (f Fabric) Validate(job *Job) error {
	if err := job.Validate(); err != nil {
		return err
	}
	_, err := f.of(job)
	return err
}

// of fills in what the job says, and says what does not go with it.
func (f Fabric) of(job *Job) (Fabric, error) {
	if f.Racks == nil {
		f.Racks = job.Racks
	}
	if f.Racks != nil {
		if err := fits(f.Racks, len(job.Members)); err != nil {
			return f, err
		}
	}
	if job.Racks != nil && !slices.Equal(job.Racks, f.Racks) {
		return f, fmt.Errorf("racks: the algorithm's and the network's differ, which %w", ErrJob)
	}
	return f, f.validate(len(job.Members))
}

func (f *Fabric) validate(members int) error {
	least := LeastLatency()
	switch {
	case f.Uplink != 0 && !(f.Uplink >= 1 && f.Uplink <= 1e15):
		return fmt.Errorf("uplink: %v bits a second %w", f.Uplink, ErrJob)
	case f.Message < 0 || f.Message > MaxMessage:
		return fmt.Errorf("message: %v %w: it is from 0 up to %v", f.Message, ErrJob, MaxMessage)
	case f.Latency != 0 && (f.Latency < least || f.Latency > MaxMessage):
		return fmt.Errorf("latency: %v %w: it is from %v, which the hosts take, up to %v", f.Latency, ErrJob, least, MaxMessage)
	case len(f.Slow) > MaxSlow:
		return fmt.Errorf("slow: %d of them %w: at most %d", len(f.Slow), ErrJob, MaxSlow)
	}
	seen := map[[2]int]bool{}
	for _, s := range f.Slow {
		if err := s.validate(members); err != nil {
			return err
		}
		if seen[s.what()] {
			return fmt.Errorf("slow: %v twice %w: say once what is left of its rate", s, ErrJob)
		}
		seen[s.what()] = true
	}
	return nil
}

// what is slow: a link is the same from both ends.
func (s Slow) what() [2]int { return [2]int{min(s.Node, s.To), max(s.Node, s.To)} }

// String names what is slow.
func (s Slow) String() string {
	if s.To < 0 {
		return fmt.Sprintf("node %d", s.Node)
	}
	return fmt.Sprintf("the link between nodes %d and %d", s.Node, s.To)
}

func (s Slow) validate(members int) error {
	switch {
	case s.Node < 0 || s.Node >= members || s.To < -1 || s.To >= members:
		return fmt.Errorf("slow: node %d %w: there are 0, the root, to %d", max(s.Node, s.To), ErrJob, members-1)
	case s.Node == s.To:
		return fmt.Errorf("slow: a link from node %d to itself %w", s.Node, ErrJob)
	case !(s.Factor >= leastShare && s.Factor <= 1):
		return fmt.Errorf("slow: %g of the rate %w: it is from a millionth up to 1", s.Factor, ErrJob)
	}
	return nil
}

// LeastLatency is the part of a small message's way that is not the wire: hosts, PCIe, NICs and the switch.
func LeastLatency() time.Duration {
	c := sim.DefaultCosts()
	return time.Duration(math.Ceil(c.Post + 2*c.PCIe + c.Switch + c.ToMemory + c.Progress))
}

// OneWay is the latency that small messages have in a rack.
func (f *Fabric) OneWay() time.Duration {
	if f.Latency > 0 {
		return f.Latency
	}
	return LeastLatency() + time.Duration(sim.DefaultCosts().Wire)
}

// PerMessage is the time that each message takes its NIC.
func (f *Fabric) PerMessage() time.Duration {
	if f.Message > 0 {
		return f.Message
	}
	return time.Duration(sim.DefaultCosts().Gap)
}

// Used is the network with nothing left to the simulator, for reports.
func (f Fabric) Used() Fabric {
	f.Latency, f.Message = f.OneWay(), f.PerMessage()
	return f
}

// complete chooses what a job leaves open. Nothing has to be measured.
func (f *Fabric) complete(job *Job) (*Job, *Chosen, error) {
	if !job.undecided() {
		return job, nil, nil
	}
	own := *job
	n := tune.Network{Rate: job.Rate, Latency: f.OneWay(), Message: f.PerMessage(), Uplink: f.Uplink}
	c, err := own.choosePaced(n)
	if err != nil {
		return nil, nil, fmt.Errorf("nothing can be chosen: %w", err)
	}
	chosen := &Chosen{Links: Links{Rate: n.Rate, Latency: n.Latency.Seconds(), Message: n.Message.Seconds()}, Predicted: c.Predicted.Seconds()}
	return &own, chosen, own.take(Choice{Algorithm: Algorithm{c.Algorithm}, Block: c.Block, Stripes: c.Stripes, Credits: c.Credits, Pace: c.Pace})
}

// config is the simulator's.
func (f *Fabric) config(job *Job) sim.Config {
	costs := sim.DefaultCosts()
	if f.Message > 0 {
		costs.Gap = float64(f.Message)
	}
	costs.Wire = float64(f.OneWay() - LeastLatency())
	return sim.Config{Seed: job.Seed, Racks: max(1, len(f.Racks)), Uplink: f.Uplink, PeerTimeout: job.Timeout, Costs: &costs}
}

// slow makes slow what shall be.
func (f *Fabric) slow(fabric *sim.Fabric, names []string) error {
	for _, s := range f.Slow {
		var err error
		if s.To < 0 {
			err = fabric.SlowNode(names[s.Node], s.Factor)
		} else {
			err = fabric.SlowLink(names[s.Node], names[s.To], s.Factor)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
