package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

func TestHoldTakesPairsInTurn(t *testing.T) {
	var turns []string
	value := 0.0
	sample := func(who string, ratio float64) func() (float64, error) {
		return func() (float64, error) {
			turns = append(turns, who)
			value++
			return value * ratio, nil
		}
	}
	c := contest{what: "w", peer: "p", unit: "µs", bound: 4, atMost: true, theirs: sample("peer", 1), ours: sample("ours", 2)}
	r, err := c.hold(3) // 4 ÷ 1, 8 ÷ 3, 12 ÷ 5
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Fields("peer ours peer ours peer ours"); !slices.Equal(turns, want) {
		t.Errorf("the turns were %v", turns)
	}
	if r.Value != 8.0/3 || r.Low != 2.4 || r.High != 4 || !r.met() {
		t.Errorf("%+v, met: %v", r, r.met())
	}
	c.ours = func() (float64, error) { return 0, errors.New("on purpose") }
	if _, err := c.hold(3); err == nil {
		t.Error("a failure was not told")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}, {[]float64{9, 1, 2, 4}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestMet(t *testing.T) {
	for _, c := range []struct {
		r    result
		want bool
	}{
		{result{Value: 1.5, Bound: 1.5, AtMost: true}, true},
		{result{Value: 1.51, Bound: 1.5, AtMost: true}, false},
		{result{Value: 0.9, Bound: 0.9}, true},
		{result{Value: 0.89, Bound: 0.9}, false},
		{result{Value: 0.01, AtMost: true}, false}, // at most none
		{result{Value: 12}, true},                  // no bound
		{result{Failed: "why", Value: 12}, false},
	} {
		if got := c.r.met(); got != c.want {
			t.Errorf("%+v is met: %v", c.r, got)
		}
		if missed := misses([]result{c.r}) != nil; missed == c.want {
			t.Errorf("%+v is missed: %v", c.r, missed)
		}
	}
}

func TestParseRefusesBadFlags(t *testing.T) {
	for _, c := range [][]string{
		{"-only", "("}, {"-pairs", "0"}, {"-pairs", "1001"}, {"-out", "x", "-pairs", "6"}, {"shm"},
	} {
		if _, err := parse(c); err == nil {
			t.Errorf("%q was taken", c)
		}
	}
	for _, c := range [][]string{{"-out", "x", "-only", "shm"}, {"-out", "x", "-quick"}} {
		if o, err := parse(c); err != nil || o.out != "" {
			t.Errorf("%q would keep a partial run in %q (%v)", c, o.out, err)
		}
	}
}

func TestParseBusy(t *testing.T) {
	got, err := parseBusy("cpu  100 20 3 999 999 4 5 6 7 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if want := 138 * 10 * time.Millisecond; got != want || err != nil {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h i"} {
		if _, err := parseBusy(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestTable(t *testing.T) {
	contested := result{What: "shm lane, 8 B write", Unit: "×", Value: 1.25, Bound: 1.5, AtMost: true, Peer: "UCX am_lat",
		PairUnit: "µs", Pairs: []pair{{0.1, 0.125}, {0.1, 0.2}, {0.2, 0.2}}, Low: 1, High: 2}
	slow := contested
	slow.What, slow.Value, slow.Others = "tcp lane, 8 B write", 1.6, 0.7
	failed := result{What: "tcp lane, 1 MiB writes", Peer: "Go net.Conn", Failed: "why"}
	figure := result{What: "nodes", Unit: "KiB", Value: 16.12, Bound: 64, AtMost: true}
	none := result{What: "allocations", AtMost: true}
	var got strings.Builder
	printTable(&got, []result{contested, slow, failed, figure, none, {What: "rate", Unit: "events/s", Value: 3445142}},
		record{Results: []result{{What: "nodes", Value: 15.5}, {What: "shm lane, 8 B write", Value: 9}}})
	const want = `what                    measured        spread  bound           ours    against             last run
shm lane, 8 B write     1.25 ×          1..2    ≤ 1.5  met      0.2 µs  0.1 µs  UCX am_lat  
tcp lane, 8 B write *   1.6 ×           1..2    ≤ 1.5  MISSED?  0.2 µs  0.1 µs  UCX am_lat  
tcp lane, 1 MiB writes  -                       FAILED                  Go net.Conn         
nodes                   16.1 KiB                ≤ 64  met                                   15.5 (+4 %)
allocations             0                       ≤ 0  met                                    
rate                    3.45M events/s                                                      
`
	if got.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", got.String(), want)
	}
}
