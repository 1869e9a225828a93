package contest

import (
	"fmt"
	"slices"
)

// Contest compares one thing that Weft does with what somebody else does instead.
type Contest struct {
	What   string
	Peer   string
	Unit   string  // of both numbers
	Bound  float64 // of ours ÷ the peer's; 0: none
	AtMost bool    // the numbers are times, not speeds
	Why    string  // the bound is missed, as far as that is known
	Theirs func() (float64, error)
	Ours   func() (float64, error)
}

// Pair is one sample of each, taken one after the other.
type Pair struct {
	Peer float64 `json:"peer"`
	Ours float64 `json:"ours"`
}

func (p Pair) ratio() float64 { return p.Ours / p.Peer }

// Hold takes the pairs, alternating, and judges the median of their ratios.
func (c Contest) Hold(pairs int) (Result, error) {
	var taken []Pair
	for range pairs {
		theirs, err := c.Theirs()
		if err != nil {
			return c.row(), fmt.Errorf("%s: %w", c.Peer, err)
		}
		ours, err := c.Ours()
		if err != nil {
			return c.row(), err
		}
		taken = append(taken, Pair{theirs, ours})
	}
	return c.Judge(taken), nil
}

// row is the row of the table, still empty.
func (c Contest) row() Result {
	return Result{What: c.What, Unit: "×", Bound: c.Bound, AtMost: c.AtMost, Why: c.Why, Peer: c.Peer, PairUnit: c.Unit}
}

// Judge makes the row of pairs that were taken elsewhere: at least one.
func (c Contest) Judge(pairs []Pair) Result {
	r := c.row()
	r.Pairs = pairs
	ratios := column(pairs, Pair.ratio)
	r.Value, r.Low, r.High = Median(ratios), slices.Min(ratios), slices.Max(ratios)
	return r
}

// Step is the contest as one step of a run.
func (c Contest) Step(pairs int) Step {
	return Step{Name: c.What + ", " + c.Peer, Run: func() ([]Result, error) {
		r, err := c.Hold(pairs)
		return []Result{r}, err
	}}
}

// column is one number of each pair.
func column(pairs []Pair, of func(Pair) float64) []float64 {
	var c []float64
	for _, p := range pairs {
		c = append(c, of(p))
	}
	return c
}

// Median is the middle, or the mean of the two in the middle.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}
