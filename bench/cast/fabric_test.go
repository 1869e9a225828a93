package cast

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// racked is a job of 12 blocks to 3 racks of 4.
func racked(algorithm schedule.Algorithm) (*Job, Fabric) {
	j := someJob(12)
	j.Rate, j.Size, j.Block, j.Algorithm = 10e9, 12<<20, 1<<20, Algorithm{algorithm}
	shape := Fabric{Racks: []int{4, 4, 4}}
	if algorithm.Racks() {
		j.Racks = shape.Racks
	}
	return j, shape
}

func simulated(t *testing.T, j *Job, shape Fabric) *Report {
	t.Helper()
	report, err := Simulate(context.Background(), j, shape, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// planned counts the blocks that an algorithm sends from one rack to another, by its plans.
func planned(t *testing.T, j *Job, racks []int) (count int) {
	t.Helper()
	of := rackOf(racks)
	for rank := range j.Members {
		part, err := schedule.New(j.schedule(), rank)
		if err != nil {
			t.Fatal(err)
		}
		plan := part.Plan(j.Blocks())
		for step := range plan.Steps() {
			if send, ok := plan.Send(step); ok && of[rank] != of[send.Peer] {
				count++
			}
		}
	}
	return count
}

// What crosses racks is counted to the block, for every algorithm, in a sweep of sizes: a last block as long as a header, too.
func TestCrossRackBlocks(t *testing.T) {
	for _, algorithm := range schedule.Algorithms() {
		for _, size := range []uint64{1, 32, 12 << 20, 12<<20 + 32} {
			j, shape := racked(algorithm)
			j.Size = size
			if got, want := simulated(t, j, shape).CrossRack, planned(t, j, shape.Racks); got != want {
				t.Errorf("%v, %d bytes: %d blocks crossed racks, and the plans have %d", algorithm, size, got, want)
			}
		}
	}
}

// The algorithms that know racks send each block once into each other rack.
func TestHybridsCrossOnce(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.RackChain, schedule.RackPipeline, schedule.RackStripes} {
		j, shape := racked(algorithm)
		if got, want := simulated(t, j, shape).CrossRack, j.Blocks()*2; got != want {
			t.Errorf("%v: %d blocks crossed racks; want k · (racks − 1) = %d", algorithm, got, want)
		}
	}
}

// A narrow uplink, a slow node, a slow link, and what messages cost: each makes it slower, and none of them twice.
func TestFabricsAreSlower(t *testing.T) {
	j, flat := racked(schedule.Pipeline)
	base := simulated(t, j, flat).Median.Seconds
	for what, change := range map[string]func(*Fabric){
		"uplink":  func(f *Fabric) { f.Uplink = Oversubscribed(f.Racks, j.Rate, 8) },
		"node":    func(f *Fabric) { f.Slow = []Slow{{Node: 3, To: -1, Factor: 0.5}} },
		"link":    func(f *Fabric) { f.Slow = []Slow{{Node: 0, To: 1, Factor: 0.25}} },
		"message": func(f *Fabric) { f.Message = 500 * time.Microsecond },
		"latency": func(f *Fabric) { f.Latency = time.Millisecond },
	} {
		shape := flat
		change(&shape)
		if got := simulated(t, j, shape).Median.Seconds; got < 1.02*base || got > 20*base {
			t.Errorf("%s: %v s, and %v s without", what, got, base)
		}
	}
	shape := flat
	shape.Uplink = Oversubscribed(shape.Racks, j.Rate, 1)
	if got := simulated(t, j, shape).Median.Seconds; got > 1.02*base {
		t.Errorf("uplinks for all: %v s, and %v s without", got, base)
	}
}

// A small message takes the latency that was asked for. The fabric adds jitter.
func TestFabricLatency(t *testing.T) {
	j := someJob(2)
	j.Rate, j.Size = 100e9, 1
	for _, latency := range []time.Duration{0, 5 * time.Microsecond, time.Millisecond} {
		shape := Fabric{Latency: latency}
		want := shape.OneWay().Seconds()
		if got := simulated(t, j, shape).Results[0].Members[1]; got < want || got > 1.1*want+1e-6 {
			t.Errorf("latency %v: a byte took %v s; want about %v", latency, got, want)
		}
	}
}

func TestFabricsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		shape Fabric
		says  string
	}{
		{Fabric{Racks: []int{4, 4}}, "racks: 8 members in all makes no sense: the group has 12, with the root"},
		{Fabric{Racks: []int{12, 0}}, "racks: one of 0 members"},
		{Fabric{Uplink: -1}, "uplink: -1"},
		{Fabric{Message: -1}, "message: -1ns"},
		{Fabric{Latency: 1}, "latency: 1ns makes no sense: it is from"},
		{Fabric{Slow: []Slow{{12, -1, 0.5}}}, "slow: node 12 makes no sense: there are 0, the root, to 11"},
		{Fabric{Slow: []Slow{{3, 3, 0.5}}}, "slow: a link from node 3 to itself"},
		{Fabric{Slow: []Slow{{3, -1, 0}}}, "slow: 0 of the rate"},
		{Fabric{Slow: []Slow{{3, -1, 0.5}, {4, -1, 0.5}, {3, -1, 0.1}}}, "slow: node 3 twice"},
		{Fabric{Slow: []Slow{{3, 4, 0.5}, {4, 3, 0.1}}}, "slow: the link between nodes 4 and 3 twice"},
		{Fabric{Slow: make([]Slow, MaxSlow+1)}, "slow: 65537 of them"},
	} {
		j, _ := racked(schedule.Pipeline)
		if _, err := Simulate(context.Background(), j, c.shape, Watch{}); !errors.Is(err, ErrJob) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v; want %q", err, c.says)
		}
	}
	j, _ := racked(schedule.RackChain)
	if _, err := Simulate(context.Background(), j, Fabric{Racks: []int{6, 6}}, Watch{}); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Error(err)
	}
}
