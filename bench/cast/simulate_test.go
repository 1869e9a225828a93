package cast

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Every algorithm brings every kind of message to everybody, in virtual time.
func TestSimulate(t *testing.T) {
	for _, algorithm := range schedule.Algorithms() {
		for _, size := range []uint64{0, 1, 64 << 10, 1<<20 + 3, 512 << 20} {
			t.Run(fmt.Sprintf("%v %d", algorithm, size), func(t *testing.T) {
				j := someJob(6)
				j.Size, j.Algorithm, j.Rate, j.Block, j.Runs = size, Algorithm{algorithm}, 40e9, int(min(max(size/16, 64<<10), 1<<20)), 2
				if algorithm.Racks() {
					j.Racks = []int{2, 3, 1}
				}
				report, err := Simulate(context.Background(), j, Fabric{}, Watch{})
				if err != nil {
					t.Fatal(err)
				}
				if len(report.Results) != 3 || !report.Results[0].WarmUp || report.Phantom != (size > realMemory/6) {
					t.Errorf("%+v", report)
				}
				if size > 1<<20 && (report.Median.Efficiency < 0.1 || report.Median.Efficiency > 1) {
					t.Errorf("efficiency %v", report.Median.Efficiency)
				}
			})
		}
	}
}

// The same seed gives the same times, to the nanosecond.
func TestSimulationRepeats(t *testing.T) {
	j := someJob(9)
	j.Rate = 100e9
	first, err := Simulate(context.Background(), j, Fabric{}, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Simulate(context.Background(), j, Fabric{}, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	for _, report := range []*Report{first, second} {
		if report.Wall <= 0 || report.PeakMemory == 0 {
			t.Errorf("it took %v s and %d bytes", report.Wall, report.PeakMemory)
		}
		report.Wall, report.PeakMemory = 0, 0 // not of virtual time
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("%+v and %+v differ", first, second)
	}
}

func TestSimulationInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	j := someJob(16)
	j.Rate, j.Size, j.Block = 100e9, 1<<40, 1<<20
	watch := Watch{Begin: func(_, _ int, _ func() int) { cancel() }}
	if _, err := Simulate(ctx, j, Fabric{}, watch); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
