package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/units"
)

// perfReport is what weft perf tells programs.
type perfReport struct {
	Version     string            `json:"weft"`
	Provider    string            `json:"provider"`            // the lane that was really used
	Asked       string            `json:"asked"`               // the provider that was asked for: auto, or a lane
	Device      string            `json:"device,omitempty"`    // RDMA: the device and its port
	LocalGID    netip.Addr        `json:"local_gid,omitzero"`  // RDMA: this end's address,
	RemoteGID   netip.Addr        `json:"remote_gid,omitzero"` // and the peer's
	Server      string            `json:"server"`
	PeerTimeout time.Duration     `json:"peer_timeout_ns"` // of both sides
	Pin         pinning           `json:"pin"`
	ClockCost   float64           `json:"clock_ns"` // of one reading
	Plan        perftest.Plan     `json:"plan"`
	Results     []perftest.Result `json:"results"`
	Interrupted bool              `json:"interrupted"`
	Error       string            `json:"error,omitempty"`
}

// pinning is which cores the threads of either side are bound to. None: the system chooses; the server's are known with
// --local only.
type pinning struct {
	Client []int `json:"client,omitempty"`
	Server []int `json:"server,omitempty"`
}

// meter shows what a client measures: rows of a table as they come, or one JSON object in the end.
type meter struct {
	out      io.Writer
	asJSON   bool
	progress *progress
	far      perfProgress
	report   perfReport
	together bool
	port     rdmaPort // nil: the lane is not RDMA
	lane     lane
	heads    string // what stands above everything, until it is printed: the lane may turn out not to lead anywhere
	group    string // of the last row: what stands in its heading
	batched  bool   // a row's samples were means
	err      error  // the first failure to print
}

func newMeter(s *perfSettings) *meter {
	m := &meter{out: s.out, asJSON: s.asJSON, far: perfProgress{index: -1}}
	m.progress = newProgress(s.errs, s.mute, m.far.line)
	m.report = perfReport{Version: version, Asked: s.provider.lane, Pin: s.pinning(), Plan: s.plan, ClockCost: clockCost(), Results: []perftest.Result{}}
	return m
}

// clockCost is what one reading of the clock costs, in nanoseconds.
func clockCost() float64 {
	const readings = 10_000
	start := clock.Real.Now()
	for range readings {
		clock.Real.Now()
	}
	return float64(clock.Real.Now().Sub(start)) / readings
}

// meet is told which lane is used and, if it is RDMA, on which port; who the server is, and when it would be given up.
func (m *meter) meet(l lane, port rdmaPort, server string, timeout time.Duration) {
	m.lane, m.port, m.report.PeerTimeout = l, port, timeout
	m.report.Provider, m.report.Server, m.together = l.name, server, l.name == "inproc"
	p := &m.report.Plan
	m.heads = fmt.Sprintf("with %s\n%s on %s, %v\n", server, counted(p.Pairs, "queue pair"), counted(p.Threads, "thread"), p.Wait)
}

// over says what carries the messages. Which GIDs they take is known when the queue pairs are connected.
func (m *meter) over() string {
	if m.port == nil {
		return m.lane.what
	}
	r, path := &m.report, m.port.LastPath()
	r.Device, r.LocalGID, r.RemoteGID = m.port.Name(), path.Local, path.Remote
	if !path.Remote.IsValid() {
		return "RDMA device " + r.Device
	}
	return fmt.Sprintf("%s, GID %v to %v", r.Device, r.LocalGID, r.RemoteGID)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// run has a client carry out the plan.
func (m *meter) run(ctx context.Context, side perftest.Side, plan perftest.Plan) error {
	m.far.expect(plan)
	m.far.begin(-1, perftest.Run{})
	m.progress.start()
	defer m.progress.stop()
	defer context.AfterFunc(ctx, m.progress.giveWay)()
	client := perftest.Client{Side: side, Plan: plan, Cut: m.cut, Begin: m.begin, Report: m.add}
	return client.Run(ctx)
}

// cut is told that sizes are left out.
func (m *meter) cut(plan perftest.Plan, most units.Size) {
	m.report.Plan = plan
	m.far.expect(plan)
	m.heads += fmt.Sprintf("sizes above %v are left out: the device takes no longer messages\n", most)
}

// begin is told which run is next.
func (m *meter) begin(index int, run perftest.Run) {
	if m.heads != "" {
		over := m.over()
		m.progress.hide(func() { m.printf("over %s: %s\n%s", m.lane.name, over, m.heads) })
		m.heads = ""
	}
	m.far.begin(index, run)
}

func (m *meter) add(r perftest.Result) {
	m.report.Results = append(m.report.Results, r)
	if m.asJSON {
		return
	}
	m.progress.hide(func() {
		m.heading(r.Run)
		m.row(r)
	})
}

// heading stands above the rows of one operation and measure.
func (m *meter) heading(run perftest.Run) {
	group := fmt.Sprintf("%v %v", run.Operation, run.Measure)
	if group == m.group {
		return
	}
	m.group = group
	plan := &m.report.Plan
	cpu := " CPU client    server"
	if m.together {
		cpu = "   CPU both"
	}
	if run.Measure == perftest.Latency {
		kind := "post to completion"
		if run.Operation.PingPong() {
			kind = "half round trip"
		}
		m.printf("\n%s, %s; CPU time for a message\n%8s %8s %8s %8s %8s %5s%s\n", group, kind, "size", "p50 µs", "p99 µs",
			"p99.9 µs", "max µs", "batch", cpu)
		return
	}
	m.printf("\n%s, depth %d, lists of %d, one completion for %d\n%8s %9s %9s %11s%s\n", group, plan.Depth, plan.List,
		plan.QuietEvery, "size", "GB/s", "msg/s", "messages", cpu)
}

func (m *meter) row(r perftest.Result) {
	m.printf("%8s", r.Size)
	if l := r.Latency; l != nil {
		m.printf(" %8s %8s %8s %8s %5d", units.Digits(l.P50), percentile(l.P99), percentile(l.P999), units.Digits(l.Max), l.Batch)
		m.batched = m.batched || l.Batch > 1
	} else {
		m.printf(" %9s %9s %11d", units.Digits(r.Rate.GigabytesPerSecond), perSecond(r.Rate.MessagesPerSecond), r.Messages)
	}
	if m.together {
		m.printf(" %10s", nanoseconds(r.CPU.Both))
	} else {
		m.printf(" %10s %9s", nanoseconds(r.CPU.Client), nanoseconds(r.CPU.Server))
	}
	if r.Verified {
		m.printf("  verified")
	}
	if r.Partial {
		m.printf("  partial")
	}
	m.printf("\n")
}

// percentile prints one, or that there were too few samples for it.
func percentile(value float64) string {
	if value == 0 {
		return "–"
	}
	return units.Digits(value)
}

// perSecond prints a rate of messages.
func perSecond(rate float64) string {
	switch {
	case rate >= 1e6:
		return units.Digits(rate/1e6) + " M"
	case rate >= 1e3:
		return units.Digits(rate/1e3) + " k"
	}
	return units.Digits(rate)
}

// nanoseconds prints a time of processors with its unit, or that it is not known.
func nanoseconds(ns float64) string {
	switch {
	case ns == 0:
		return "–"
	case ns >= 1e6:
		return units.Digits(ns/1e6) + " ms"
	case ns >= 1e3:
		return units.Digits(ns/1e3) + " µs"
	}
	return units.Digits(ns) + " ns"
}

// finish prints what is left to print: the object, or a remark.
func (m *meter) finish(failed error) error {
	if !m.asJSON {
		if m.batched {
			m.printf("\nReading the clock takes %.0f ns. Where that counts, a sample is the mean of a\nbatch of messages.\n",
				m.report.ClockCost)
		}
		return m.err
	}
	if failed != nil {
		m.report.Interrupted, m.report.Error = isInterrupt(failed), failed.Error()
	}
	if m.report.Provider == "" {
		return nil // nothing was begun
	}
	return json.NewEncoder(m.out).Encode(m.report)
}

func (m *meter) printf(format string, args ...any) {
	if m.asJSON {
		return
	}
	if _, err := fmt.Fprintf(m.out, format, args...); m.err == nil {
		m.err = err
	}
}
