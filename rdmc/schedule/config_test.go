package schedule

import (
	"strings"
	"testing"
)

func TestBadConfigs(t *testing.T) {
	for _, bad := range []struct {
		config Config
		rank   int
		says   string
	}{
		{Config{Members: 0}, 0, "0 members: a group has 1 to 1048576"},
		{Config{Members: -3}, 0, "-3 members"},
		{Config{Members: MaxMembers + 1}, 0, "1048577 members"},
		{Config{Members: 4}, -1, "rank -1 in a group of 4: ranks go from 0 to 3"},
		{Config{Members: 4}, 4, "rank 4 in a group of 4"},
		{Config{Members: 4, Stripes: -1}, 0, "-1 stripes: a group has 1 to 64"},
		{Config{Members: 4, Stripes: MaxStripes + 1}, 0, "65 stripes"},
		{Config{Members: 4, Algorithm: 99}, 0, "algorithm 99 is unknown: there are pipeline, circulant"},
		{Config{Members: 2, Racks: []int{0, 1}}, 0, "pipeline knows no racks: leave them out, or take rack-chain"},
		{Config{Members: 4, Algorithm: RackChain}, 0, "rack-chain needs the rack of each of 4 members, not of 0"},
		{Config{Members: 4, Algorithm: RackStripes, Racks: []int{1, 2, 3}}, 0, "rack of each of 4 members, not of 3"},
	} {
		if _, err := New(bad.config, bad.rank); err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%+v, rank %d: %v, want %q", bad.config, bad.rank, err, bad.says)
		}
	}
	if err := Write(&strings.Builder{}, Config{}, 1); err == nil {
		t.Error("a group without members was written")
	}
}

func TestAlgorithmNames(t *testing.T) {
	for _, algorithm := range Algorithms() {
		if parsed, err := ParseAlgorithm(algorithm.String()); err != nil || parsed != algorithm {
			t.Errorf("%v is parsed as %v, %v", algorithm, parsed, err)
		}
	}
	if _, err := ParseAlgorithm("carousel"); err == nil || !strings.Contains(err.Error(), `"carousel"`) {
		t.Errorf("carousel: %v", err)
	}
}

func TestAlone(t *testing.T) {
	for _, algorithm := range Algorithms() {
		config := Config{Algorithm: algorithm, Members: 1}
		if algorithm.Racks() {
			config.Racks = []int{5}
		}
		part, err := New(config, 0)
		if err != nil {
			t.Fatalf("%v: %v", algorithm, err)
		}
		if part.Plan(7).Steps() != 0 || part.Bound(7) != 0 || len(part.Peers()) != 0 || part.Announced() {
			t.Errorf("%v: somebody alone has something to do: %+v", algorithm, part)
		}
	}
}

func TestNoBlocks(t *testing.T) {
	for _, blocks := range []int{0, -1} {
		plan := newTestPart(t, Pipeline, 8).Plan(blocks)
		if _, sends := plan.Send(0); plan.Steps() != 0 || sends {
			t.Errorf("%d blocks take %d steps", blocks, plan.Steps())
		}
	}
}

// FuzzAgreement takes any shape: what a member sends in any step, its peer expects.
func FuzzAgreement(f *testing.F) {
	f.Add(uint8(Pipeline), 13, 5, 100, 20, 1, 3)
	f.Add(uint8(RackStripes), 1000, 77, 1<<30, 1<<29, 5, 9)
	f.Add(uint8(Circulant), MaxMembers, 77777, 1<<32, 1<<31, 64, 0)
	f.Fuzz(func(t *testing.T, algorithm uint8, members, rank, blocks, step, stripes, racks int) {
		config := Config{Algorithm: Algorithm(algorithm), Members: members, Stripes: stripes}
		if racks > 0 && members > 0 && members <= 5000 {
			config.Racks = make([]int, members)
			for i := range config.Racks {
				config.Racks[i] = i % racks
			}
		}
		part, err := New(config, rank)
		if err != nil {
			return
		}
		out, ok := part.Plan(blocks).Send(step)
		if !ok {
			return
		}
		peer, err := New(config, out.Peer)
		if err != nil {
			t.Fatalf("%+v: %d sends to %d: %v", config, rank, out.Peer, err)
		}
		if in, ok := peer.Plan(blocks).Receive(step); !ok || in != (Transfer{rank, out.Block}) || out.Block >= blocks {
			t.Fatalf("%d blocks, step %d: %d sends %v, %v is expected", blocks, step, rank, out, in)
		}
	})
}

// A member of a large group has hardly more steps to look at than blocks, even where the others take hours.
func TestIdleStepsAreSkipped(t *testing.T) {
	const blocks = 1 << 26
	for _, algorithm := range []Algorithm{Tree, Sequential} {
		part, err := New(Config{Algorithm: algorithm, Members: 1000, Stripes: 2}, 999)
		if err != nil {
			t.Fatal(err)
		}
		p := part.Plan(blocks)
		if from, to := p.Receiving(); to-from < blocks || to-from > blocks+1000*2 {
			t.Errorf("%v: %d blocks come in steps %d to %d", algorithm, blocks, from, to)
		}
		if from, to := p.Sending(); from < to {
			t.Errorf("%v: the last member sends in steps %d to %d", algorithm, from, to)
		}
	}
}
