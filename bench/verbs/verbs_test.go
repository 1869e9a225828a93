package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/bench/pinned"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/soft"
)

func TestMain(m *testing.M) {
	pinned.Main(roles())
	leaktest.Main(m)
}

// few are small orders for every pair of jobs that a lane is for: who looks at memory only, and never polls, waits long
// for a NIC that is a goroutine on the same core.
func few(lane soft.Lanes) []order {
	orders := []order{
		{Lane: lane, Near: "write one by one", Far: "be written to", Size: 8, Count: 100},
		{Lane: lane, Near: "write one by one", Far: "be written to", Size: 4 << 20, Count: 3},
		{Lane: lane, Near: "write in lists", Far: "be written to", Size: 8, Count: 1000, List: 32, Quiet: 64},
		{Lane: lane, Near: "write in lists", Far: "be written to", Size: 1 << 20, Count: 20, Depth: 8, List: 1, Quiet: 1},
		{Lane: lane, Near: "ping by immediate", Far: "answer by immediate", Size: 8, Count: 300},
		{Lane: lane, Near: "ping by immediate", Far: "answer by immediate", Size: 8, Count: 300, Spin: never},
		{Lane: lane, Near: "allocations", Far: "be there", Size: 4096, Count: 100},
	}
	if lane != soft.TCP {
		orders = append(orders, order{Lane: lane, Near: "ping by write", Far: "answer by write", Size: 8, Count: 100})
	}
	return orders
}

// TestJobsWithinAProcess runs the two jobs of every order on two goroutines.
func TestJobsWithinAProcess(t *testing.T) {
	for _, o := range few(soft.InProcess) {
		o = o.withDefaults()
		t.Run(fmt.Sprintf("%s %d", o.Near, o.Size), func(t *testing.T) {
			near, far := newTestSide(t, o), newTestSide(t, o)
			met, ended := make(chan error), make(chan error)
			nearHello, farHello := near.hello(), far.hello()
			go func() {
				met <- far.meet(nearHello)
				_, err := farJobs[o.Far](far)
				ended <- err
			}()
			if err := errors.Join(near.meet(farHello), <-met); err != nil {
				t.Fatal(err)
			}
			found, err := nearJobs[o.Near](near)
			if err := errors.Join(err, <-ended); err != nil {
				t.Fatal(err)
			}
			if o.Near != "allocations" && found.Took <= 0 {
				t.Errorf("it took %v", found.Took)
			}
		})
	}
}

func newTestSide(t *testing.T, o order) *side {
	s, err := newSide(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestAlone(t *testing.T) {
	if _, _, err := pinned.Cores(); err != nil {
		t.Skip(err)
	}
	found, err := runAlone(order{Lane: soft.InProcess, Near: "write one by one", Size: 8, Count: 1000})
	if err != nil || found.Took <= 0 {
		t.Errorf("%v, %v", found.Took, err)
	}
}

// What is kept says which version of Weft it was, and how to measure it again.
func TestRecordsTellHowTheyAreRepeated(t *testing.T) {
	t.Setenv("WEFT_ROCE", "rxe0")
	for want, arguments := range map[string][]string{"make bench-verbs": {"-version", "v1"}, "make bench-roce": {"-version", "v1", "-roce", "weft"}} {
		o, err := parse(arguments)
		if r := newRecord(o); err != nil || r.Version != "v1" || r.Command != want {
			t.Errorf("%q: %q of %q, %v", arguments, r.Command, r.Version, err)
		}
	}
}
