package main

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/units"
)

// laneTime bounds the trial of one lane.
const laneTime = 10 * time.Second

// examineLanes tries every lane.
func examineLanes(ctx context.Context, rdma rdmaView) (found []finding) {
	for _, l := range lanes {
		found = append(found, examineLane(ctx, l, rdma))
	}
	return found
}

func examineLane(ctx context.Context, l lane, rdma rdmaView) finding {
	var name string
	if l.name == "ibv" {
		switch {
		case len(rdma.devices) == 0 && rdma.unlisted == nil && rdma.wanted != "":
			return good(l.name, "%s: no RDMA device, and %s", l.what, rdma.wanted).but(problem, "see RDMA below")
		case len(rdma.devices) == 0 && rdma.unlisted == nil:
			return good(l.name, "%s: no RDMA device, and none is needed", l.what).but(absent, "")
		case rdma.usable() != nil:
			return good(l.name, "%s: a device is there, but cannot be used", l.what).but(problem, "see RDMA below")
		}
		name = rdma.choice.String()
	}
	if err := tryLane(ctx, l, name); err != nil {
		return good(l.name, "%s: %v", l.what, err).but(problem, "")
	}
	return good(l.name, "%s: a write arrived", l.what)
}

// tryLane writes over a lane from this process to itself, and compares what has arrived. Name is an RDMA device's.
func tryLane(ctx context.Context, l lane, name string) error {
	if err := l.checkFiles(1, 1); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, laneTime)
	defer cancel()
	return withinProcess(ctx, l, device{name: name, timeout: laneTime}, nil, func(side perftest.Side) error {
		client := perftest.Client{Side: side, Plan: trial(), Report: func(perftest.Result) {}}
		return client.Run(ctx)
	})
}

// trial is the smallest plan: a write that is verified.
func trial() perftest.Plan {
	return perftest.Plan{Operations: []perftest.Operation{perftest.Write}, Measures: []perftest.Measure{perftest.Bandwidth},
		Sizes: []units.Size{8}, Depth: 1, List: 1, QuietEvery: 1, Pairs: 1, Threads: 1, Iterations: 1, Wait: perftest.Hybrid}
}

// chooseLanes says what --provider auto will take. Asked is what WEFT_PROVIDER says.
func chooseLanes(tried []finding, asked string) (here, there choice) {
	choose := chooseLane
	if asked != "" && asked != "auto" {
		choose = func(tried []finding, far connect.Reach) choice { return obeyLane(tried, asked, far) }
	}
	return choose(tried, connect.SameHost), choose(tried, connect.Anywhere)
}

// obeyLane takes the lane that was asked for, or none.
func obeyLane(tried []finding, asked string, far connect.Reach) choice {
	for i, l := range lanes {
		switch {
		case l.name != asked:
		case l.reach > far:
			return choice{"", fmt.Sprintf("WEFT_PROVIDER asks for %s, which does not reach there: it is %s", asked, l.what)}
		case tried[i].State != ok:
			return choice{"", fmt.Sprintf("WEFT_PROVIDER asks for %s, which does not work: see above", asked)}
		default:
			return choice{asked, "WEFT_PROVIDER asks for it"}
		}
	}
	return choice{"", fmt.Sprintf("WEFT_PROVIDER asks for %s: %v", asked, errProvider)}
}

// chooseLane takes the best lane that works and reaches far enough.
func chooseLane(tried []finding, far connect.Reach) choice {
	for i, l := range lanes {
		if l.reach <= far && tried[i].State == ok {
			return choice{l.name, "the best that works: " + l.what}
		}
	}
	return choice{"", "no lane that reaches there works"}
}
