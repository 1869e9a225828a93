package main

import (
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/provider/soft"
)

// measure takes the steps that were asked for.
func measure(o options) error {
	r := contest.NewRecord()
	r.Version, r.Command = o.Version, "make bench-ripc"
	checkUCX(r)
	return r.Run(o.Options, steps(o))
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

// steps are everything there is to measure, in the order of the table.
func steps(o options) []contest.Step {
	var all []contest.Step
	for _, c := range append(contests(o.Scale), otherContests(o)...) {
		all = append(all, c.Step(o.Pairs))
	}
	return append(all,
		contest.Step{Name: "memory of services", Run: measureCrowds},
		contest.Step{Name: "messages lost", Run: func() ([]contest.Result, error) { return measureLoss(o.Scale) }})
}

// measureLoss counts what was sent and did not come.
func measureLoss(scale int) ([]contest.Result, error) {
	row := contest.Result{What: "messages lost, 16 senders, a slow receiver", AtMost: true}
	found, err := run(order{Lane: soft.SharedMemory, Job: "load", Count: scale * 10_000})
	row.Value = float64(found.Lost)
	return []contest.Result{row}, err
}
