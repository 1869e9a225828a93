package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/bench/pinned"
)

// perftestLimit is how long one run of a program of perftest may take.
const perftestLimit = 2 * time.Minute

// Perftest is one run of a program of perftest, which measures libibverbs, between two processes that poll.
type Perftest struct {
	Program string // ib_write_lat, ib_write_bw, …
	Device  string
	GID     int      // index of the device's GID
	Size    int      // bytes of a message
	Count   int      // messages
	Options []string // further ones
}

// Latency is the median, in ticks of the time stamp counter: of half a round trip, or of a whole one where the target does
// nothing.
func (p Perftest) Latency() (float64, error) { return p.run(4, "-C") }

// Bandwidth is megabytes a second over the run.
func (p Perftest) Bandwidth() (float64, error) {
	mebi, err := p.run(3)
	return mebi * (1 << 20) / 1e6, err
}

// run runs server and client, and returns one column of the client's table.
func (p Perftest) run(column int, options ...string) (float64, error) {
	near, far, err := pinned.Cores()
	if err != nil {
		return 0, err
	}
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), perftestLimit)
	defer cancel()
	options = append(append(options, "-p", port), p.Options...)
	server, heard := p.command(ctx, options...)
	if err := pinned.OnCore(far, server.Start); err != nil {
		return 0, fmt.Errorf("%s: %w; install it with: scripts/need ib_write_lat perftest", p.Program, err)
	}
	client, said := p.command(ctx, append(options, "127.0.0.1")...)
	if err = awaitListener(ctx, port); err == nil {
		err = pinned.OnCore(near, client.Run)
	}
	if err != nil {
		cancel() // the server would wait for a client forever
	}
	if err := errors.Join(err, server.Wait()); err != nil {
		return 0, fmt.Errorf("%s: %w: %s%s", p.Program, err, heard, said)
	}
	return perftestColumn(said.String(), p.Size, column)
}

func (p Perftest) command(ctx context.Context, options ...string) (*exec.Cmd, *bytes.Buffer) {
	var output bytes.Buffer
	all := append([]string{"-F", "-d", p.Device, "-x", strconv.Itoa(p.GID), "-s", strconv.Itoa(p.Size), "-n", strconv.Itoa(p.Count)}, options...)
	c := exec.CommandContext(ctx, p.Program, all...)
	c.Stdout, c.Stderr = &output, &output
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c, &output
}

// perftestColumn finds a column of the one line of numbers in perftest's table, which begins with the size.
func perftestColumn(output string, size, column int) (float64, error) {
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) <= max(column, 4) || fields[0] != strconv.Itoa(size) {
			continue
		}
		if value, err := strconv.ParseFloat(fields[column], 64); err == nil && value > 0 {
			return value, nil
		}
	}
	return 0, fmt.Errorf("perftest printed no table: %q", output)
}
