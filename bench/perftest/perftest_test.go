package perftest

import (
	"context"
	"errors"
	"runtime"
	"strings"
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

// openDevices opens a device for either side.
func openDevices(t *testing.T) (nics [2]*soft.Device, devices [2]*verbs.Device) {
	t.Helper()
	for i := range devices {
		var err error
		if nics[i], err = soft.New(soft.Config{}); err != nil {
			t.Fatal(err)
		}
		if devices[i], err = verbs.Open(nics[i]); err != nil {
			t.Fatal(err)
		}
	}
	return nics, devices
}

// measure carries a plan out in this process.
func measure(ctx context.Context, t *testing.T, plan Plan, report func(Result), begin func(int, Run)) error {
	t.Helper()
	_, devices := openDevices(t)
	a, b := NewPipe()
	served := make(chan error, 1)
	go func() {
		served <- (&Server{Side{Device: devices[1], Exchange: b, Together: true}}).Serve(context.Background())
	}()
	client := &Client{Side: Side{Device: devices[0], Exchange: a, Together: true}, Plan: plan, Report: report, Begin: begin}
	err := client.Run(ctx)
	a.Close()
	return errors.Join(err, <-served, devices[0].Close(), devices[1].Close())
}

func TestEveryOperation(t *testing.T) {
	for _, wait := range []Wait{Polling, Sleeping, Hybrid} {
		plan := smallPlan()
		plan.Wait = wait
		if wait != Polling {
			plan.Operations = plan.Operations[1:]
		}
		var results []Result
		if err := measure(context.Background(), t, plan, func(r Result) { results = append(results, r) }, nil); err != nil {
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
	if r.Run != run || r.Partial || r.Seconds <= 0 || r.CPU.Both <= 0 || r.CPU.Client != 0 || r.CPU.Server != 0 {
		t.Errorf("%v: %+v", run, r)
	}
	if run.Measure == Latency {
		l := r.Latency
		if r.Messages != plan.Iterations*int64(plan.Threads) || l.P50 <= 0 || l.P99 < l.P50 || l.Max < l.P99 || l.P999 != 0 {
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

// An interrupt ends a run in good order. It may come before the first message, on a busy machine; then there is no result.
func TestInterruptedRunIsPartial(t *testing.T) {
	plan := smallPlan()
	plan.Iterations, plan.Duration = 0, time.Hour
	for after := 50 * time.Millisecond; after < time.Minute; after *= 4 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(after, cancel)
		var results []Result
		err := measure(ctx, t, plan, func(r Result) { results = append(results, r) }, nil)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if len(results) == 1 && results[0].Partial && results[0].Messages > 0 {
			return
		}
		t.Logf("after %v: %+v", after, results)
	}
	t.Error("no partial result, however long it ran")
}

// A run allocates a little when it begins and ends, and nothing for a message.
func TestMessagesAllocateNothing(t *testing.T) {
	plan := smallPlan()
	plan.Sizes, plan.Iterations, plan.Threads, plan.Pairs = []units.Size{8}, 5_000, 1, 2
	var client mallocs
	err := measure(context.Background(), t, plan, client.end, client.begin)
	if err != nil {
		t.Fatal(err)
	}
	if len(client.made) != len(plan.Runs()) {
		t.Fatalf("%d runs", len(client.made))
	}
	for i, run := range plan.Runs() {
		if made := client.made[i]; made > 1000 {
			t.Errorf("%v: %d allocations in %d messages", run, made, plan.Iterations)
		}
	}
}

// mallocs counts the allocations of each run.
type mallocs struct {
	before uint64
	made   []uint64
}

func (m *mallocs) count() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.Mallocs
}

func (m *mallocs) begin(int, Run) { m.before = m.count() }
func (m *mallocs) end(Result)     { m.made = append(m.made, m.count()-m.before) }

// A server refuses what it cannot do, and says so to the client.
func TestServerRefusesAPlan(t *testing.T) {
	_, devices := openDevices(t)
	a, b := NewPipe()
	served := make(chan error, 1)
	go func() { served <- (&Server{Side{Device: devices[1], Exchange: b}}).Serve(context.Background()) }()
	client := talk{a}
	plan := smallPlan()
	plan.Depth = -1
	if _, err := client.round(t.Context(), "plan", note{Plan: &plan}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.round(t.Context(), "connect", note{}); err == nil || !strings.Contains(err.Error(), "the peer: --depth -1") {
		t.Errorf("the client hears %v", err)
	}
	if err := <-served; !errors.Is(err, ErrPlan) {
		t.Errorf("the server ends with %v", err)
	}
	if err := errors.Join(devices[0].Close(), devices[1].Close()); err != nil {
		t.Error(err)
	}
}

// Bytes that are wrong at the server fail the run.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		run  Run
		note note
		fine bool
	}{
		{Run{Write, Bandwidth, 8}, note{}, true},
		{Run{Write, Bandwidth, 8}, note{Wrong: "byte 3"}, false},
		{Run{FetchAdd, Bandwidth, 8}, note{Sum: 10}, true},
		{Run{FetchAdd, Bandwidth, 8}, note{Sum: 9}, false},
		{Run{CompareSwap, Bandwidth, 8}, note{}, false},
	} {
		if err := verify(c.run, 10, c.note); (err == nil) != c.fine {
			t.Errorf("%v, %+v: %v", c.run, c.note, err)
		}
	}
}

// A peer that dies in the middle of a run ends it with an error, and nothing stays open.
func TestDeadPeer(t *testing.T) {
	for _, run := range plansOfOne() {
		nics, devices := openDevices(t)
		a, b := NewPipe()
		served := make(chan error, 1)
		go func() {
			served <- (&Server{Side{Device: devices[1], Exchange: b}}).Serve(context.Background())
		}()
		client := &Client{Side: Side{Device: devices[0], Exchange: a}, Plan: run, Report: func(Result) {},
			Begin: func(int, Run) { time.AfterFunc(20*time.Millisecond, nics[1].Kill) }}
		if err := client.Run(context.Background()); err == nil {
			t.Errorf("%v: the client has noticed nothing", run.Runs()[0])
		}
		a.Close()
		if err := <-served; err == nil {
			t.Errorf("%v: the server has noticed nothing", run.Runs()[0])
		}
		for _, d := range devices {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// plansOfOne have one endless run each.
func plansOfOne() (plans []Plan) {
	for _, operation := range smallPlan().Operations {
		for _, measure := range smallPlan().Measures {
			p := smallPlan()
			p.Operations, p.Measures, p.Sizes = []Operation{operation}, []Measure{measure}, []units.Size{8}
			p.Iterations, p.Duration = 0, time.Hour
			plans = append(plans, p)
		}
	}
	return plans
}
