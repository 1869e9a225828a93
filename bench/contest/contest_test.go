package contest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

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
	c := Contest{What: "w", Peer: "p", Unit: "µs", Bound: 4, AtMost: true, Theirs: sample("peer", 1), Ours: sample("ours", 2)}
	r, err := c.Hold(3) // 4 ÷ 1, 8 ÷ 3, 12 ÷ 5
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Fields("peer ours peer ours peer ours"); !slices.Equal(turns, want) {
		t.Errorf("the turns were %v", turns)
	}
	if r.Value != 8.0/3 || r.Low != 2.4 || r.High != 4 || !r.met() {
		t.Errorf("%+v, met: %v", r, r.met())
	}
	c.Ours = func() (float64, error) { return 0, errors.New("on purpose") }
	if _, err := c.Hold(3); err == nil {
		t.Error("a failure was not told")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}, {[]float64{9, 1, 2, 4}, 3}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestMet(t *testing.T) {
	for _, c := range []struct {
		r    Result
		want bool
	}{
		{Result{Value: 1.5, Bound: 1.5, AtMost: true}, true},
		{Result{Value: 1.51, Bound: 1.5, AtMost: true}, false},
		{Result{Value: 0.9, Bound: 0.9}, true},
		{Result{Value: 0.89, Bound: 0.9}, false},
		{Result{Value: 0.01, AtMost: true}, false}, // at most none
		{Result{Value: 12}, true},                  // no bound
		{Result{Failed: "why", Value: 12}, false},
	} {
		if got := c.r.met(); got != c.want {
			t.Errorf("%+v is met: %v", c.r, got)
		}
		if missed := misses([]Result{c.r}) != nil; missed == c.want {
			t.Errorf("%+v is missed: %v", c.r, missed)
		}
	}
}

// The reason of a miss is told with it, and only then.
func TestMissesTellWhy(t *testing.T) {
	slow := Result{What: "w", Peer: "p", Unit: "×", Value: 2, Bound: 1, AtMost: true, Why: "the links are slow"}
	err := misses([]Result{slow})
	if err == nil || err.Error() != "w, against p: 2 ×, the bound is 1: the links are slow" {
		t.Error(err)
	}
	met, failed := slow, slow
	met.Value, failed.Failed = 1, "it is not there"
	if err := misses([]Result{met}); err != nil {
		t.Error(err)
	}
	if err := misses([]Result{failed}); err == nil || err.Error() != "w, against p: it is not there" {
		t.Error(err)
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
	contested := Result{What: "shm lane, 8 B write", Unit: "×", Value: 1.25, Bound: 1.5, AtMost: true, Peer: "UCX am_lat",
		PairUnit: "µs", Pairs: []Pair{{0.1, 0.125}, {0.1, 0.2}, {0.2, 0.2}}, Low: 1, High: 2}
	slow := contested
	slow.What, slow.Value, slow.Others = "tcp lane, 8 B write", 1.6, 0.7
	failed := Result{What: "tcp lane, 1 MiB writes", Peer: "Go net.Conn", Failed: "why"}
	figure := Result{What: "nodes", Unit: "KiB", Value: 16.12, Bound: 64, AtMost: true}
	none := Result{What: "allocations", AtMost: true}
	var got strings.Builder
	printTable(&got, []Result{contested, slow, failed, figure, none, {What: "rate", Unit: "events/s", Value: 3445142}},
		Record{Results: []Result{{What: "nodes", Value: 15.5}, {What: "shm lane, 8 B write", Value: 9}}})
	const want = `what                    measured        spread  bound                     ours    against             last run
shm lane, 8 B write     1.25 ×          1..2    ≤ 1.5  met by the median  0.2 µs  0.1 µs  UCX am_lat  
tcp lane, 8 B write *   1.6 ×           1..2    ≤ 1.5  MISSED?            0.2 µs  0.1 µs  UCX am_lat  
tcp lane, 1 MiB writes  -                       FAILED                            Go net.Conn         
nodes                   16.1 KiB                ≤ 64  met                                             15.5 (+4 %)
allocations             0                       ≤ 0  met                                              
rate                    3.45M events/s                                                                
`
	if got.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", got.String(), want)
	}
}
