package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/units"
)

// laneTime bounds the trial of one lane.
const laneTime = 10 * time.Second

// examineLanes tries every lane.
func examineLanes(ctx context.Context) []finding {
	var found []finding
	for _, l := range lanes {
		f := good(l.name, "%s: a write arrived", l.what)
		if err := tryLane(ctx, l); err != nil {
			f = good(l.name, "%s: %v", l.what, err).but(problem, "")
		}
		found = append(found, f)
	}
	return found
}

// tryLane writes over a lane from this process to itself, and compares what has arrived.
func tryLane(ctx context.Context, l lane) error {
	if err := l.checkFiles(1, 1); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, laneTime)
	defer cancel()
	return withinProcess(ctx, l, laneTime, nil, func(side perftest.Side) error {
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

// infinibandFolder is where Linux lists RDMA devices.
const infinibandFolder = "/sys/class/infiniband"

func rdmaDevices(folder string) (names []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // without RDMA the folder is not there
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func examineRDMA(devices []string) finding {
	if len(devices) == 0 {
		return good("rdma", "no RDMA device, and none is needed")
	}
	return good("rdma", "%s: not used, this build has no libibverbs provider", strings.Join(devices, ", ")).
		but(warning, "nothing to fix: the software lanes are used")
}
