package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/bench/pinned"
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/tsc"
)

// The contests on an RDMA device: weft perf beside perftest, in the same boot. Both poll on the same two cores, send the same
// messages as often, do not inline, and have one completion for 100 messages where there is a stream of them.
//
// Times are ticks of the processor's counter, by which perftest measures too: in a virtual machine that is emulated the
// system's clock need not be as exact.

// roceGID is where the rig's device has its IPv4 address.
const roceGID = 1

func roceContests(weft string, scale int) []contest {
	device := os.Getenv("WEFT_ROCE")
	latency := func(operation string, size int, options ...string) contest {
		count := scale * 100
		return contest{
			what: fmt.Sprintf("ibv, %s latency %d B, both poll", operation, size), peer: "ib_" + operation + "_lat", unit: "ticks",
			bound: 1.3, atMost: true,
			theirs: peers.Perftest{Program: "ib_" + operation + "_lat", Device: device, GID: roceGID, Size: size, Count: count, Options: options}.Latency,
			ours:   perf{weft, device, operation, "latency", size, count}.ticks,
		}
	}
	bandwidth := func(operation string, size int) contest {
		count := scale * 30
		return contest{
			what: fmt.Sprintf("ibv, %s bandwidth %d B", operation, size), peer: "ib_" + operation + "_bw", unit: "MB/s", bound: 0.9,
			theirs: peers.Perftest{Program: "ib_" + operation + "_bw", Device: device, GID: roceGID, Size: size, Count: count, Options: []string{"-I", "0"}}.Bandwidth,
			ours:   perf{weft, device, operation, "bandwidth", size, count}.megabytes,
		}
	}
	return []contest{latency("write", 8, "-I", "0"), latency("send", 8, "-I", "0"), latency("read", 8),
		latency("write", 4096, "-I", "0"), bandwidth("write", 65536)}
}

// perf is one row of weft perf.
type perf struct {
	weft, device, operation, measure string
	size, count                      int
}

// perfLimit is how long one run may take.
const perfLimit = 2 * time.Minute

// ticks is the median latency in ticks of the counter, whose rate is measured beside.
func (p perf) ticks() (float64, error) {
	ticks, began := tsc.Read(), clock.Real.Now()
	r, err := p.run()
	rate := float64(tsc.Read()-ticks) / float64(clock.Real.Now().Sub(began).Microseconds())
	if err != nil {
		return 0, err
	}
	return r.Latency.P50 * rate, nil
}

func (p perf) megabytes() (float64, error) {
	r, err := p.run()
	if err != nil {
		return 0, err
	}
	return r.Rate.GigabytesPerSecond * 1e3, nil
}

func (p perf) run() (r perftest.Result, err error) {
	near, far, err := pinned.Cores()
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), perfLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.weft, "perf", "--local", "--json", "--quiet", "--device", p.device, "--pin", fmt.Sprintf("%d,%d", near, far), p.operation,
		"--measure", p.measure, "--size", strconv.Itoa(p.size), "--iterations", strconv.Itoa(p.count), "--warm-up", "0s", "--batch", "1", "--quiet-every", "100")
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return perfResult(text)
}

// perfResult finds the row in what weft perf says.
func perfResult(text []byte) (r perftest.Result, err error) {
	var report struct {
		Provider string            `json:"provider"`
		Results  []perftest.Result `json:"results"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return r, fmt.Errorf("weft perf: %w", err)
	}
	if report.Provider != "ibv" || len(report.Results) != 1 {
		return r, fmt.Errorf("weft perf measured %d rows over %s", len(report.Results), report.Provider)
	}
	r = report.Results[0]
	if r.Latency == nil && r.Rate == nil || r.Partial {
		return r, errors.New("weft perf has no result")
	}
	return r, nil
}
