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
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
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

func roceContests(weft string, scale int) []contest.Contest {
	device := os.Getenv("WEFT_ROCE")
	latency := func(operation string, size int, options ...string) contest.Contest {
		count := scale * 100
		return contest.Contest{
			What: fmt.Sprintf("ibv, %s latency %d B, both poll", operation, size), Peer: "ib_" + operation + "_lat", Unit: "ticks",
			Bound: 1.3, AtMost: true,
			Theirs: peers.Perftest{Program: "ib_" + operation + "_lat", Device: device, GID: roceGID, Size: size, Count: count, Options: options}.Latency,
			Ours:   perf{weft, device, operation, "latency", size, count}.ticks,
		}
	}
	bandwidth := func(operation string, size int) contest.Contest {
		count := scale * 100
		return contest.Contest{
			What: fmt.Sprintf("ibv, %s bandwidth %d B", operation, size), Peer: "ib_" + operation + "_bw", Unit: "MB/s", Bound: 0.9,
			Theirs: peers.Perftest{Program: "ib_" + operation + "_bw", Device: device, GID: roceGID, Size: size, Count: count, Options: []string{"-I", "0"}}.Bandwidth,
			Ours:   perf{weft, device, operation, "bandwidth", size, count}.megabytes,
		}
	}
	return []contest.Contest{latency("write", 8, "-I", "0"), latency("send", 8, "-I", "0"), latency("read", 8),
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

// run has a server on one core and a client on another, as perftest has.
func (p perf) run() (r perftest.Result, err error) {
	near, far, err := pinned.Cores()
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), perfLimit)
	defer cancel()
	address := fmt.Sprintf("unix:@weft-bench-%d", os.Getpid())
	server, heard := p.command(ctx, "--once", "--child", "--serve="+address)
	alive, err := server.StdinPipe()
	if err != nil {
		return r, err
	}
	if err := pinned.OnCore(far, server.Start); err != nil {
		return r, err
	}
	client, said := p.command(ctx, p.what(address)...)
	err = p.await(ctx, heard)
	if err == nil {
		err = pinned.OnCore(near, client.Run)
	}
	if err := errors.Join(err, alive.Close(), server.Wait()); err != nil {
		return r, fmt.Errorf("weft perf: %w: %s%s", err, heard, said)
	}
	return perfResult(said.Bytes())
}

func (p perf) what(address string) []string {
	return []string{"--connect", address, p.operation, "--measure", p.measure, "--size", strconv.Itoa(p.size), "--iterations", strconv.Itoa(p.count),
		"--warm-up", "0s", "--batch", "1", "--quiet-every", "100"}
}

func (p perf) command(ctx context.Context, arguments ...string) (*exec.Cmd, *output) {
	c := exec.CommandContext(ctx, p.weft, append([]string{"perf", "--json", "--quiet", "--device", p.device}, arguments...)...)
	var o output
	c.Stdout, c.Stderr = &o, &o
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// On one core Go would have one processor, and take it away from a call into C that lasts for 20 µs, as every one does here.
	c.Env = append(os.Environ(), "GOMAXPROCS=2")
	return c, &o
}

// await waits until the server says that it listens.
func (p perf) await(ctx context.Context, heard *output) error {
	for !strings.Contains(heard.String(), `"listening"`) {
		if ctx.Err() != nil {
			return errors.New("the server does not listen")
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// output is what a process says, and may be read meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) Bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.text.Bytes())
}

func (o *output) String() string { return string(o.Bytes()) }

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
