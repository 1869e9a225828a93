package tune

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

var fast = Network{Rate: 40e9, Latency: 1135, Message: 7}

// Research 2.2: with one stripe, k blocks take (k + ⌈log₂ n⌉ − 1) steps of α + β·size/k, where α is what a block and a
// credit take beside its bytes.
func TestOneStripeIsTheFormula(t *testing.T) {
	const block = 1 << 20
	for _, members := range []int{2, 8, 13, 32} {
		for _, k := range []int{1, 7, 64, 1000} {
			c := Choice{Algorithm: schedule.Pipeline, Block: block, Stripes: 1, Credits: 1}
			got := Predict(Group{Members: members, Size: uint64(k) * block}, fast, c)
			l := fast.link()
			want := (float64(k) + rounds(members) - 1) * (l.hop(block) + l.word())
			if ratio := float64(got) / want; ratio < 0.98 || ratio > 1.02 {
				t.Errorf("%d members, %d blocks: %v, and the formula says %v", members, k, got, time.Duration(want))
			}
		}
	}
}

// A chain pays for each member, a pipeline for each doubling; so few members and many blocks are for the chain, many
// members for the pipeline or its like.
func TestChoosesByMembers(t *testing.T) {
	few, err := Choose(Group{Members: 4, Size: 64 << 20}, Network{Rate: 40e9, Latency: 20 * time.Microsecond})
	if err != nil || few.Algorithm != schedule.Chain {
		t.Errorf("4 members: %+v, %v", few, err)
	}
	many, err := Choose(Group{Members: 512, Size: 8 << 20}, Network{Rate: 40e9, Latency: 1135, Message: 5 * time.Microsecond})
	if err != nil || many.Algorithm > schedule.Circulant {
		t.Errorf("512 members: %+v, %v", many, err)
	}
}

// Blocks grow with the message, with what a message costs, and with the latency.
func TestBlocksGrow(t *testing.T) {
	block := func(size uint64, latency, message time.Duration) int {
		c, err := Choose(Group{Members: 64, Size: size}, Network{Rate: 40e9, Latency: latency, Message: message}, schedule.Pipeline)
		if err != nil {
			t.Fatal(err)
		}
		return c.Block
	}
	least := block(1<<20, 1135, 7)
	for what, b := range map[string]int{"size": block(256<<20, 1135, 7), "latency": block(1<<20, 40*time.Microsecond, 7),
		"message": block(1<<20, 1135, 5*time.Microsecond)} {
		if b <= least {
			t.Errorf("with more %s blocks have %d bytes, and %d with less", what, b, least)
		}
	}
}

// Between racks with narrow uplinks, what crosses them often is not chosen.
func TestNarrowUplinks(t *testing.T) {
	g := Group{Members: 64, Size: 256 << 20}
	for i := range g.Members {
		g.Racks = append(g.Racks, 100-i/8)
	}
	n := fast
	n.Uplink = 80e9
	c, err := Choose(g, n)
	if err != nil || !c.Algorithm.Racks() && c.Algorithm != schedule.Chain {
		t.Errorf("%+v, %v", c, err)
	}
	pipeline := Predict(g, n, Choice{Algorithm: schedule.Pipeline, Block: 1 << 20, Stripes: 1, Credits: 1})
	if float64(pipeline) < 1.5*float64(c.Predicted) {
		t.Errorf("a pipeline takes %v, and the choice %v", pipeline, c.Predicted)
	}
}

// NICs that relay a pipeline wait for one of two streams where a group is no power of two; there a circulant is chosen.
func TestRelayedPipelines(t *testing.T) {
	n := Network{Rate: 100e9, Latency: 1135, Message: 7, Offload: true, Credits: 64}
	for members, slow := range map[int]bool{4: false, 7: true, 12: true, 16: false} {
		g := Group{Members: members, Size: 100e6}
		pipeline, err := Choose(g, n, schedule.Pipeline)
		circulant, err2 := Choose(g, n, schedule.Circulant)
		if err != nil || err2 != nil || slow != (float64(pipeline.Predicted) > 1.05*float64(circulant.Predicted)) {
			t.Errorf("%d members: %+v, %v; %+v, %v", members, pipeline, err, circulant, err2)
		}
	}
}

// As the simulator has it for 64 MB to 16 members: two stripes of 48 KiB take 1.30 of the message's time on a link, and of 128
// KiB 1.09; one stripe with two credits 1.61 where messages keep the NIC for long, and 1.09 where they do not.
func TestStripesThatMeet(t *testing.T) {
	for _, c := range []struct {
		block, stripes, credits int
		message                 time.Duration
		want                    float64
	}{{48 << 10, 2, 2, 7, 1.3}, {128 << 10, 2, 2, 7, 1.09}, {1 << 20, 1, 2, 5000, 1.61}, {1 << 20, 1, 2, 7, 1.09}} {
		n := Network{Rate: 100e9, Latency: 1135, Message: c.message}
		choice := Choice{Algorithm: schedule.Pipeline, Block: c.block, Stripes: c.stripes, Credits: c.credits}
		if c.stripes > 1 {
			choice.Pace = time.Duration(c.block) * 8 / 100
		}
		got := Predict(Group{Members: 16, Size: 64e6}, n, choice).Seconds() / 64e6 / 8 * 100e9
		if got < 0.95*c.want || got > 1.05*c.want {
			t.Errorf("%+v: %.3f of the time on a link", c, got)
		}
	}
}

// Limits of a network are kept, whatever the size.
func TestKeepsLimits(t *testing.T) {
	for _, size := range []uint64{0, 1, 5000, 1 << 20, 1<<30 + 7} {
		for _, limit := range [][2]int{{0, 0}, {0, 100}, {0, 32 << 10}, {1000, 1000}, {1 << 20, 0}} {
			n := fast
			n.MinBlock, n.MaxBlock = limit[0], limit[1]
			c, err := Choose(Group{Members: 5, Size: size}, n)
			if err != nil || c.Block < max(1, limit[0]) || limit[1] > 0 && c.Block > limit[1] {
				t.Errorf("%d bytes, blocks of %v: %+v, %v", size, limit, c, err)
			}
		}
	}
}

// Stripes and credits that were said are kept, by every algorithm, and the rest is the best that goes with them: no other
// algorithm is predicted to be faster with the same. NICs that relay have no pace.
func TestKeepsWhatWasSaid(t *testing.T) {
	g := Group{Members: 6, Size: 1 << 20, Racks: []int{7, 7, 7, 9, 9, 9}}
	for _, said := range [][2]int{{0, 1}, {0, 7}, {1, 0}, {3, 0}, {3, 2}, {5, 9}} {
		for _, offload := range []bool{false, true} {
			n := fast
			n.Stripes, n.Credits, n.Offload = said[0], said[1], offload
			auto, err := Choose(g, n)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range schedule.Algorithms() {
				c, err := Choose(g, n, a)
				if err != nil || said[0] != 0 && c.Stripes != said[0] || said[1] != 0 && c.Credits != said[1] || offload && c.Pace != 0 {
					t.Errorf("%v: %+v, %v", said, c, err)
				}
				if c.Predicted < auto.Predicted {
					t.Errorf("%v: %+v is chosen, and %+v is faster", said, auto, c)
				}
			}
		}
	}
}

func TestOnlyAmong(t *testing.T) {
	for _, a := range schedule.Algorithms() {
		c, err := Choose(Group{Members: 6, Size: 1 << 20, Racks: []int{7, 7, 7, 9, 9, 9}}, fast, a)
		if err != nil || c.Algorithm != a || c.Predicted <= 0 || c.Predicted == math.MaxInt64 {
			t.Errorf("%v: %+v, %v", a, c, err)
		}
	}
}

// Whoever asks for racks and has hosts in one of them only, or in as many as there are hosts, is served all the same.
func TestRacksWithoutHierarchy(t *testing.T) {
	for _, racks := range [][]int{{4, 4, 4}, {0, 1, 2}, {1, 1}, {1, 2}} {
		g := Group{Members: len(racks), Size: 1 << 20, Racks: racks}
		for _, a := range schedule.Algorithms() {
			if took := Predict(g, fast, Choice{Algorithm: a, Block: 16 << 10, Stripes: 2, Credits: 3}); took <= 0 || took == math.MaxInt64 {
				t.Errorf("%v of racks %v takes %v", a, racks, took)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	good := Group{Members: 3, Size: 100}
	for _, c := range []struct {
		g    Group
		n    Network
		says string
	}{
		{Group{}, fast, "0 members"},
		{Group{Members: schedule.MaxMembers + 1}, fast, "members: a group has 1 to"},
		{Group{Members: 2, Size: math.MaxUint64}, fast, "bytes: at most"},
		{Group{Members: 3, Racks: []int{1}}, fast, "racks of 1 members, where the group has 3"},
		{good, Network{}, "a rate of 0"},
		{good, Network{Rate: math.NaN()}, "a rate of NaN"},
		{good, Network{Rate: math.Inf(1)}, "a rate of +Inf"},
		{good, Network{Rate: 1e9, Uplink: -1}, "an uplink of -1"},
		{good, Network{Rate: 1e9, Latency: -1}, "a latency of -1ns"},
		{good, Network{Rate: 1e9, Message: 2 * time.Hour}, "2h0m0s a message"},
		{good, Network{Rate: 1e9, MinBlock: 10, MaxBlock: 5}, "blocks of 10 to 5 bytes"},
		{good, Network{Rate: 1e9, Stripes: -1}, "-1 stripes and 0 credits: up to 64 and 1024, or 0 for any"},
		{good, Network{Rate: 1e9, Credits: 1 << 20}, "0 stripes and 1048576 credits"},
	} {
		if _, err := Choose(c.g, c.n); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v on %+v: %v; want %q", c.g, c.n, err, c.says)
		}
		if got := Predict(c.g, c.n, Choice{Algorithm: schedule.Chain, Block: 4096, Stripes: 1, Credits: 1}); got != math.MaxInt64 {
			t.Errorf("%+v on %+v: predicted %v", c.g, c.n, got)
		}
	}
	if _, err := Choose(good, fast, schedule.RackChain); err == nil || !strings.Contains(err.Error(), "rack-chain") {
		t.Errorf("a group without racks: %v", err)
	}
}

// Whatever is asked, there is an answer, and a choice that package schedule takes.
func FuzzChoose(f *testing.F) {
	f.Add(8, uint64(1<<20), 40e9, int64(1135), int64(7), 80e9, 0, 3)
	f.Add(3000, uint64(1)<<51, 1.0, int64(time.Hour), int64(time.Hour), 1.0, 1, 7)
	f.Fuzz(func(t *testing.T, members int, size uint64, rate float64, latency, message int64, uplink float64, most, perRack int) {
		if members > 4000 {
			return // what is larger only takes longer
		}
		g := Group{Members: members, Size: size}
		for i := 0; i < members && perRack > 0; i++ {
			g.Racks = append(g.Racks, i/perRack)
		}
		n := Network{Rate: rate, Latency: time.Duration(latency), Message: time.Duration(message), Uplink: uplink, MaxBlock: most}
		c, err := Choose(g, n)
		if err != nil {
			return
		}
		shape := schedule.Config{Algorithm: c.Algorithm, Members: members, Stripes: c.Stripes}
		if c.Algorithm.Racks() {
			shape.Racks = slices.Clone(g.Racks)
		}
		if _, err := schedule.New(shape, 0); err != nil || c.Block < 1 || c.Credits < 1 || c.Predicted < 0 || c.Pace < 0 {
			t.Errorf("%+v on %+v: %+v, %v", g, n, c, err)
		}
	})
}

// Of choices that are nearly as fast the one with the largest blocks is taken, and of these the first; of a message with
// few blocks just the fastest.
func TestLightest(t *testing.T) {
	all := []Choice{{Block: 1, Predicted: 100}, {Block: 4, Predicted: 101, Stripes: 1}, {Block: 4, Predicted: 100, Stripes: 2}, {Block: 8, Predicted: 103}}
	for within, want := range map[float64]Choice{1: all[2], 1.01: all[1], 1.05: all[3]} {
		if got := Lightest(all, within); got != want {
			t.Errorf("within %v: %+v, want %+v", within, got, want)
		}
	}
	for size, most := range map[uint64]int{8 << 20: 1024, 256 << 20: 2048} {
		c, err := Choose(Group{Members: 8, Size: size}, fast)
		if k := count(size, c.Block); err != nil || k > most {
			t.Errorf("%d bytes: %d blocks, %+v, %v", size, k, c, err)
		}
	}
}
