package perftest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// smallPlan is a plan that takes no time.
func smallPlan() Plan {
	return Plan{
		Operations: []Operation{Write, Read, Send, WriteImm, FetchAdd, CompareSwap},
		Measures:   []Measure{Latency, Bandwidth},
		Sizes:      []units.Size{1, 8, 1000, 3 * units.MiB},
		Depth:      16, List: 4, QuietEvery: 8, Pairs: 3, Threads: 2, Iterations: 50,
	}
}

// measure carries a plan out in this process.
func measure(ctx context.Context, t *testing.T, plan Plan, report func(Result)) error {
	t.Helper()
	var devices [2]*verbs.Device
	for i := range devices {
		nic, err := soft.New(soft.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if devices[i], err = verbs.Open(nic); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := devices[i].Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	a, b := NewPipe()
	served := make(chan error, 1)
	go func() {
		served <- (&Server{Side{Device: devices[1], Exchange: b, Together: true}}).Serve(context.Background())
	}()
	client := &Client{Side: Side{Device: devices[0], Exchange: a, Together: true}, Plan: plan, Report: report}
	err := client.Run(ctx)
	return errors.Join(err, <-served)
}

func TestEveryOperation(t *testing.T) {
	for _, wait := range []Wait{Polling, Sleeping, Hybrid} {
		plan := smallPlan()
		plan.Wait = wait
		if wait != Polling {
			plan.Operations = plan.Operations[1:]
		}
		var results []Result
		if err := measure(context.Background(), t, plan, func(r Result) { results = append(results, r) }); err != nil {
			t.Fatalf("%v: %v", wait, err)
		}
		runs := plan.Runs()
		if len(results) != len(runs) {
			t.Fatalf("%v: %d results of %d runs", wait, len(results), len(runs))
		}
		for i, r := range results {
			checkResult(t, r, runs[i], plan)
		}
	}
}

func checkResult(t *testing.T, r Result, run Run, plan Plan) {
	t.Helper()
	if r.Run != run || r.Partial || r.Seconds <= 0 || r.CPU.Client <= 0 {
		t.Errorf("%v: %+v", run, r)
	}
	if run.Measure == Latency {
		l := r.Latency
		if r.Messages != plan.Iterations*int64(plan.Threads) || l.P50 <= 0 || l.P99 < l.P50 || l.P999 < l.P99 || l.Max < l.P999 {
			t.Errorf("%v: %d messages, %+v", run, r.Messages, l)
		}
		return
	}
	// The last message of a pair must be reported, so there may be one more for each.
	if extra := r.Messages - plan.Iterations*int64(plan.Threads); extra < 0 || extra > int64(plan.Pairs) || !r.Verified {
		t.Errorf("%v: %d messages too many, verified %v", run, extra, r.Verified)
	}
	if r.Rate.GigabytesPerSecond <= 0 || r.Rate.MessagesPerSecond <= 0 {
		t.Errorf("%v: %+v", run, r.Rate)
	}
}

func TestInterruptedRunIsPartial(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	plan := smallPlan()
	plan.Iterations, plan.Duration = 0, time.Hour
	time.AfterFunc(50*time.Millisecond, cancel)
	var results []Result
	err := measure(ctx, t, plan, func(r Result) { results = append(results, r) })
	if !errors.Is(err, context.Canceled) || len(results) != 1 || !results[0].Partial || results[0].Messages == 0 {
		t.Errorf("%v, %+v", err, results)
	}
}
