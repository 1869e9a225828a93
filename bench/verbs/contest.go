package main

import (
	"fmt"
	"slices"
)

// contest compares one thing that Weft does with what somebody else does instead.
type contest struct {
	what   string
	peer   string
	unit   string  // of both numbers
	bound  float64 // of ours ÷ the peer's; 0: none
	atMost bool    // the numbers are times, not speeds
	theirs func() (float64, error)
	ours   func() (float64, error)
}

// pair is one sample of each, taken one after the other.
type pair struct {
	Peer float64 `json:"peer"`
	Ours float64 `json:"ours"`
}

func (p pair) ratio() float64 { return p.Ours / p.Peer }

// hold takes the pairs, alternating, and judges the median of their ratios.
func (c contest) hold(pairs int) (result, error) {
	r := result{What: c.what, Unit: "×", Bound: c.bound, AtMost: c.atMost, Peer: c.peer, PairUnit: c.unit}
	for range pairs {
		theirs, err := c.theirs()
		if err != nil {
			return r, fmt.Errorf("%s: %w", c.peer, err)
		}
		ours, err := c.ours()
		if err != nil {
			return r, err
		}
		r.Pairs = append(r.Pairs, pair{theirs, ours})
	}
	ratios := column(r.Pairs, pair.ratio)
	r.Value, r.Low, r.High = median(ratios), slices.Min(ratios), slices.Max(ratios)
	return r, nil
}

// column is one number of each pair.
func column(pairs []pair, of func(pair) float64) []float64 {
	var c []float64
	for _, p := range pairs {
		c = append(c, of(p))
	}
	return c
}

// median is the middle, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
