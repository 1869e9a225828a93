package sim

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/weft-fabric/weft/clock"
)

const (
	defaultRate        = 100e9 // bits a second, as a ConnectX-4 has: the NIC of Breaking Band (section 3)
	defaultJitter      = 0.05
	defaultPeerTimeout = 100 * time.Millisecond
	defaultSmall       = 512 // bytes

	maxNodes = 1 << 20
	maxRacks = 1 << 16
	maxName  = 64
	minRate  = 1    // bit a second
	maxRate  = 1e15 // bits a second
	maxCost  = 1e12 // nanoseconds
)

// Config describes a fabric. The zero Config is a flat network with full bisection, NICs of 100 Gbit/s, the latencies
// of Breaking Band and a jitter of 5 %.
type Config struct {
	// Seed decides everything that chance decides: jitter, keys, when a crash is noticed.
	Seed uint64
	// Costs is where each nanosecond goes. Nil: DefaultCosts.
	Costs *Costs
	// Racks is how many racks there are. 0: one.
	Racks int
	// Uplink is the rate of each rack to the spine and back, in bits a second, 1 or more. 0: full bisection, never a
	// bottleneck.
	Uplink float64
	// Jitter is how much longer a message may travel, as a fraction of the network's latency. 0: 5 %. Negative: none.
	Jitter float64
	// PeerTimeout is how soon a dead or silent peer is reported. 0: 100 ms.
	PeerTimeout time.Duration
	// Small is the longest message that does not take part in the sharing of links: it goes at the speed of the slowest
	// link of its path, and its NIC sends nothing else small meanwhile. Control messages would otherwise change the
	// shares of every flow they meet, for nothing. 0: 512 bytes. Negative: only messages without bytes.
	Small int
	// Observe, if not nil, is told everything that the trace hash covers. It must not call the fabric.
	Observe func(Event)
}

// Costs says where each nanosecond goes. The defaults are those that Breaking Band measured (ThunderX2 and ConnectX-4,
// section 4 and Table 1), where no other source is named; the name of the row stands at each.
type Costs struct {
	Post     float64 // LLP_post (section 4.1): the host writes one request and rings the doorbell
	PostMore float64 // MD setup (section 4.1): each further request of the same list
	PCIe     float64 // PCIe (section 4.3): one way between host and NIC, 64 bytes
	Gap      float64 // the NIC's time between messages: 142.5 million a second (Scalable Endpoints, section IV, Figure 3)
	Fetch    float64 // a DMA read (section 2), two times PCIe: the bytes of a message that is not Inline, or of a Read
	Wire     float64 // Wire (section 4.3): NIC to NIC through one switch, the switch apart; twice between racks
	Switch   float64 // Switch (section 4.3): each switch on the way; one in a rack, three between racks
	ToMemory float64 // RC-to-MEM(8B) (section 4.3): from the root complex into memory, as if for messages of all lengths
	Progress float64 // LLP_prog (section 4.1): the host takes a completion
	Chain    float64 // our guess, one PCIe: the NIC starts a request that waited for an arrival (RDMC section 4.4)
	Access   float64 // a change of permission: of Mu's fail-over time (OSDI 2020) each takes about 120 µs
	Reset    float64 // our guess: four changes of the queue pair's state, as long as a change of permission each
}

// DefaultCosts returns the measured costs.
func DefaultCosts() Costs {
	return Costs{
		Post: 175.42, PostMore: 27.78, PCIe: 137.49, Gap: 7.02, Fetch: 2 * 137.49,
		Wire: 274.81, Switch: 108, ToMemory: 240.96, Progress: 61.63,
		Chain: 137.49, Access: 120e3, Reset: 480e3,
	}
}

// NodeConfig describes a node and its NIC.
type NodeConfig struct {
	Name string        // in addresses and faults: 1 to 64 bytes, none of them '/' or '#'
	Rack int           // 0 up to, not including, Config.Racks
	Rate float64       // of the NIC, each way, in bits a second, 1 or more. 0: 100 Gbit/s
	Wake time.Duration // what it costs to wake a driven loop that slept, up to an hour
	Spin time.Duration // how long a driven loop looks before it sleeps (RDMC section 4.2), up to an hour
}

// setDefaults replaces zero values by what they stand for. Afterwards a negative Jitter or Small is 0: none.
func (c *Config) setDefaults() {
	if c.Costs == nil {
		costs := DefaultCosts()
		c.Costs = &costs
	}
	c.Racks = max(c.Racks, 1)
	if c.Jitter == 0 {
		c.Jitter = defaultJitter
	}
	c.Jitter = max(c.Jitter, 0)
	if c.PeerTimeout == 0 {
		c.PeerTimeout = defaultPeerTimeout
	}
	if c.Small == 0 {
		c.Small = defaultSmall
	}
	c.Small = max(c.Small, 0)
}

// validate names the first field that makes no sense. Conditions are written so that NaN fails them.
func (c *Config) validate() error {
	switch {
	case c.Racks < 0 || c.Racks > maxRacks:
		return fmt.Errorf("sim: Racks %d is not in 0 … %d", c.Racks, maxRacks)
	case !validRate(c.Uplink):
		return fmt.Errorf("sim: Uplink %g bit/s is neither 0 nor in %d … %g", c.Uplink, minRate, float64(maxRate))
	case !(c.Jitter <= 1000):
		return fmt.Errorf("sim: Jitter %g is above 1000 times the latency", c.Jitter)
	case c.PeerTimeout < 0 || c.PeerTimeout > time.Hour:
		return fmt.Errorf("sim: PeerTimeout %v is not in 0 … %v", c.PeerTimeout, time.Hour)
	}
	if c.Costs != nil {
		return c.Costs.validate()
	}
	return nil
}

// validate names the first cost that is negative, absurd or not a number.
func (c *Costs) validate() error {
	for _, cost := range []struct {
		name string
		ns   float64
	}{
		{"Post", c.Post}, {"PostMore", c.PostMore}, {"PCIe", c.PCIe}, {"Gap", c.Gap}, {"Fetch", c.Fetch},
		{"Wire", c.Wire}, {"Switch", c.Switch}, {"ToMemory", c.ToMemory}, {"Progress", c.Progress},
		{"Chain", c.Chain}, {"Access", c.Access}, {"Reset", c.Reset},
	} {
		if !(cost.ns >= 0 && cost.ns <= maxCost) {
			return fmt.Errorf("sim: Costs.%s %g ns is not in 0 … %g", cost.name, cost.ns, float64(maxCost))
		}
	}
	return nil
}

// validate names what is wrong with a node. Names must not contain what addresses are made of.
func (c *NodeConfig) validate(racks int) error {
	switch {
	case c.Name == "" || len(c.Name) > maxName:
		return fmt.Errorf("sim: node name %q has not 1 … %d bytes", c.Name, maxName)
	case strings.ContainsAny(c.Name, "/#"):
		return fmt.Errorf("sim: node name %q contains '/' or '#'", c.Name)
	case c.Rack < 0 || c.Rack >= racks:
		return fmt.Errorf("sim: node %s: rack %d is not in 0 … %d", c.Name, c.Rack, racks-1)
	case !validRate(c.Rate):
		return fmt.Errorf("sim: node %s: rate %g bit/s is neither 0 nor in %d … %g", c.Name, c.Rate, minRate, float64(maxRate))
	case c.Wake < 0 || c.Wake > time.Hour || c.Spin < 0 || c.Spin > time.Hour:
		return fmt.Errorf("sim: node %s: wake %v or spin %v is not in 0 … %v", c.Name, c.Wake, c.Spin, time.Hour)
	}
	return nil
}

// validRate reports whether a rate is one, or 0 for the default.
func validRate(bits float64) bool { return bits == 0 || bits >= minRate && bits <= maxRate }

// delays is Costs as the fabric uses them: summed over each stretch of a message's way, then rounded once.
type delays struct {
	post, postMore, doorbell, fetch, gap clock.Time
	land                                 clock.Time // from the wire into memory
	progress, chain, access, reset       clock.Time
	network                              [3]clock.Time // one way, by distance
}

// The distances between two nodes.
const (
	sameNode = iota // through the NIC and back
	sameRack
	otherRack
)

// delays sums the costs. Rounding whole stretches keeps the error of a message's way within a few nanoseconds.
func (c *Costs) delays() delays {
	ns := func(f float64) clock.Time { return clock.Time(math.Round(f)) }
	return delays{
		post: ns(c.Post), postMore: ns(c.PostMore), doorbell: ns(c.PCIe), fetch: ns(c.Fetch), gap: ns(c.Gap),
		land:     ns(c.PCIe + c.ToMemory),
		progress: ns(c.Progress), chain: ns(c.Chain), access: ns(c.Access), reset: ns(c.Reset),
		network: [3]clock.Time{sameNode: 0, sameRack: ns(c.Wire + c.Switch), otherRack: ns(2*c.Wire + 3*c.Switch)},
	}
}

// bytesPerNanosecond converts a rate in bits a second.
func bytesPerNanosecond(rate float64) float64 { return rate / 8 / 1e9 }
