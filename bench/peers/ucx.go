package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/bench/pinned"
)

// ucxLimit is how long one run of ucx_perftest may take.
const ucxLimit = 60 * time.Second

// UCX is one test of ucx_perftest between two processes.
type UCX struct {
	Test      string // am_lat, am_bw, put_bw, tag_lat, …
	Transport string // posix: the UCT layer in shared memory; shm: the UCP layer there; tcp: the UCP layer over loopback
	Size      int    // bytes of a message
	Count     int    // messages that are timed
}

// Latency is half a round trip in microseconds: the mean over the run ("overall" in UCX's table).
func (u UCX) Latency() (float64, error) { return u.run("overall_lat") }

// Rate is messages a second over the run ("overall" in UCX's table).
func (u UCX) Rate() (float64, error) { return u.run("overall_mr") }

var errNoUCX = errors.New("UCX is missing; install it with: scripts/need ucx_perftest ucx-utils")

// UCXVersion is the version of the installed UCX.
func UCXVersion() (string, error) {
	text, err := exec.Command("ucx_info", "-v").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errNoUCX
	}
	found := regexp.MustCompile(`[Vv]ersion\s+(\S+)`).FindSubmatch(text)
	if err != nil || found == nil {
		return "", fmt.Errorf("ucx_info -v names no version: %w: %q", err, text)
	}
	return string(found[1]), nil
}

// run runs server and client, and returns one column of what the client printed.
func (u UCX) run(column string) (float64, error) {
	near, far, err := pinned.Cores()
	if err != nil {
		return 0, err
	}
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), ucxLimit)
	defer cancel()
	server, heard := u.command(ctx, "-c", strconv.Itoa(far), "-p", port)
	if err := server.Start(); errors.Is(err, exec.ErrNotFound) {
		return 0, errNoUCX
	} else if err != nil {
		return 0, fmt.Errorf("ucx_perftest: %w", err)
	}
	if err = awaitListener(ctx, port); err == nil {
		client, said := u.command(ctx, append([]string{"127.0.0.1", "-c", strconv.Itoa(near), "-p", port}, u.what()...)...)
		if err = client.Run(); err != nil {
			err = fmt.Errorf("ucx_perftest -t %s: %w: %s", u.Test, err, said)
		}
		heard = said
	}
	if err != nil {
		cancel() // the server would wait for a client forever
	}
	if err := errors.Join(err, server.Wait()); err != nil {
		return 0, err
	}
	return ucxColumn(heard.String(), column)
}

func (u UCX) command(ctx context.Context, arguments ...string) (*exec.Cmd, *bytes.Buffer) {
	var output bytes.Buffer
	c := exec.CommandContext(ctx, "ucx_perftest", arguments...)
	c.Stdout, c.Stderr = &output, &output
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Env = os.Environ()
	switch u.Transport {
	case "tcp":
		c.Env = append(c.Env, "UCX_TLS=tcp", "UCX_NET_DEVICES=lo")
	case "shm":
		c.Env = append(c.Env, "UCX_TLS=posix,self")
	}
	return c, &output
}

// what are the arguments of the client. The final numbers come as comma-separated values under a line of names.
func (u UCX) what() []string {
	a := []string{"-t", u.Test, "-s", strconv.Itoa(u.Size), "-n", strconv.Itoa(u.Count), "-w", strconv.Itoa(u.Count/10 + 1),
		"-f", "-v"}
	if u.Transport == "posix" {
		a = append(a, "-d", "memory", "-x", "posix")
	}
	return a
}

// ucxColumn finds a column of ucx_perftest's comma-separated output by its name. Anything may stand around the two lines.
func ucxColumn(output, name string) (float64, error) {
	var names []string
	for line := range strings.Lines(output) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if fields[0] == "iterations" {
			names = fields
			continue
		}
		if _, err := strconv.ParseUint(fields[0], 10, 64); err != nil || len(fields) != len(names) {
			continue
		}
		for i, n := range names {
			if n == name {
				return strconv.ParseFloat(fields[i], 64)
			}
		}
	}
	return 0, fmt.Errorf("ucx_perftest printed no column %s: %q", name, output)
}

// freePort is a port that nobody listens on. Nothing holds it, but the kernel does not give it again soon.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}

// awaitListener waits until somebody listens on the port. It looks, and does not connect: the server takes the first
// connection for its client's.
func awaitListener(ctx context.Context, port string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	listens := regexp.MustCompile(fmt.Sprintf(`:%04X [0-9A-F]+:0000 0A `, number))
	for ctx.Err() == nil {
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			if text, err := os.ReadFile(table); err == nil && listens.Match(text) {
				return nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("the server of ucx_perftest does not listen on port %s", port)
}
