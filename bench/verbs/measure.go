package main

import (
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
)

// steps are everything there is to measure, in the order of the table.
func steps(o options) []contest.Step {
	figure := func(name string, measure func(scale int) ([]contest.Result, error)) contest.Step {
		return contest.Step{Name: name, Run: func() ([]contest.Result, error) { return measure(o.Scale) }}
	}
	all := []contest.Step{
		figure("baseline", measureBaseline),
		figure("in-process lane", measureInProcess),
		figure("allocations in-process shm tcp sim", measureAllocations),
		figure("simulator events", measureEvents),
		figure("simulator memory", measureNodeMemory),
	}
	held := contests(o.Scale)
	if o.roce != "" {
		all, held = nil, roceContests(o.roce, o.Scale)
	}
	for _, c := range held {
		all = append(all, c.Step(o.Pairs))
	}
	return all
}

// measure takes the steps that were asked for.
func measure(o options) error {
	r := newRecord(o)
	if o.roce == "" {
		checkUCX(r)
	}
	return r.Run(o.Options, steps(o))
}

// newRecord begins a record that says what is measured, and what repeats it.
func newRecord(o options) *contest.Record {
	r := contest.NewRecord()
	r.Version, r.Command = o.Version, "make bench-verbs"
	if o.roce != "" {
		r.Command = "make bench-roce"
	}
	return r
}

// checkUCX keeps the version of UCX.
func checkUCX(r *contest.Record) {
	ucx, err := peers.UCXVersion()
	switch {
	case err != nil:
		r.Warn(err.Error())
	case !strings.HasPrefix(ucx, "1.13."):
		r.Warn("the bounds against UCX are meant for 1.13, and this is " + ucx)
	}
	r.Machine.UCX = ucx
}
