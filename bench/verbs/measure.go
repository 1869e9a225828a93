package main

import (
	"errors"
	"fmt"
	"os"
)

// result is one row of the table.
type result struct {
	What   string  `json:"what"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
	Bound  float64 `json:"bound,omitempty"` // 0 and not AtMost: there is none, the number stands beside for comparison
	AtMost bool    `json:"at_most,omitempty"`
	Failed string  `json:"failed,omitempty"` // why there is no value
	Others float64 `json:"others,omitempty"` // cores that others used meanwhile, if that is not little

	// Of a contest only.
	Peer     string  `json:"peer,omitempty"`
	PairUnit string  `json:"pair_unit,omitempty"`
	Pairs    []pair  `json:"pairs,omitempty"` // in the order of time
	Low      float64 `json:"low,omitempty"`   // the smallest ratio of a pair
	High     float64 `json:"high,omitempty"`
}

// bounded reports whether the value has to reach something.
func (r result) bounded() bool { return r.Bound != 0 || r.AtMost }

func (r result) met() bool {
	switch {
	case r.Failed != "":
		return false
	case r.AtMost:
		return r.Value <= r.Bound
	}
	return r.Value >= r.Bound
}

// step measures some rows.
type step struct {
	name string // what -only is matched with
	run  func() ([]result, error)
}

// steps are everything there is to measure, in the order of the table.
func steps(o options) []step {
	figure := func(name string, measure func(scale int) ([]result, error)) step {
		return step{name, func() ([]result, error) { return measure(o.scale) }}
	}
	all := []step{
		figure("baseline", measureBaseline),
		figure("in-process lane", measureInProcess),
		figure("allocations in-process shm tcp sim", measureAllocations),
		figure("simulator events", measureEvents),
		figure("simulator memory", measureNodeMemory),
	}
	held := contests(o.scale)
	if o.roce != "" {
		all, held = nil, roceContests(o.roce, o.scale)
	}
	for _, c := range held {
		all = append(all, step{c.what + ", " + c.peer, func() ([]result, error) {
			r, err := c.hold(o.pairs)
			return []result{r}, err
		}})
	}
	return all
}

// measure takes the steps that were asked for. One that fails is a row too, so that the others are not lost.
func measure(o options) error {
	r := newRecord(o.roce != "")
	watch, err := newWatch()
	if err != nil {
		return err
	}
	r.warn(watch.before())
	for _, s := range steps(o) {
		if !o.only.MatchString(s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", s.name)
		rows, err := s.run()
		if err != nil {
			rows = failure(s, rows, err)
		}
		if others := watch.others(); others > quiet {
			for i := range rows {
				rows[i].Others = others
			}
		}
		r.Results = append(r.Results, rows...)
	}
	if len(r.Results) == 0 {
		return errors.New("-only matches no row")
	}
	return report(o.out, r)
}

// failure is what stands in the table for a step that could not be measured.
func failure(s step, rows []result, err error) []result {
	r := result{What: s.name}
	if len(rows) > 0 {
		r = rows[0]
	}
	r.Failed = err.Error()
	return []result{r}
}
