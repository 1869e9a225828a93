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
			f = good(l.name, "%s: %v", l.what, err).but(problem, "see the problems of the system below")
		}
		found = append(found, f)
	}
	return found
}

// tryLane writes over a lane from this process to itself, and compares what has arrived.
func tryLane(ctx context.Context, l lane) error {
	ctx, cancel := context.WithTimeout(ctx, laneTime)
	defer cancel()
	return withinProcess(ctx, l, nil, func(side perftest.Side) error {
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
	if asked != "" && asked != "auto" {
		why := "WEFT_PROVIDER asks for it"
		if _, err := findProvider(asked); err != nil {
			why = fmt.Sprintf("WEFT_PROVIDER %q: %v", asked, err)
			asked = ""
		}
		return choice{asked, why}, choice{asked, why}
	}
	return chooseLane(tried, connect.SameHost), chooseLane(tried, connect.Anywhere)
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
