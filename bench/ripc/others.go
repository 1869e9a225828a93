package main

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

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/provider/soft"
)

// otherWays are the ways that the program made of bench/ripc/peers knows.
var otherWays = []struct{ way, what string }{
	{"gRPC", "gRPC-go unary"},
	{"NATS", "NATS request, server embedded"},
	{"ZeroMQ", "ZeroMQ req/rep, libzmq"},
}

// otherLimit is how long one run of that program may take.
const otherLimit = 2 * time.Minute

// otherContests are against what has modules of its own.
func otherContests(o options) (all []contest.Contest) {
	ours := order{Lane: soft.TCP, Job: "call", Size: short, Count: o.Scale * 1_000}
	for _, other := range otherWays {
		all = append(all, contest.Contest{What: "tcp, short call, nodes, both sleep", Peer: other.what, Unit: "µs", Bound: 0.7, AtMost: true,
			Theirs: func() (float64, error) { return otherWay(o.other, other.way, short, ours.Count) }, Ours: ours.micros})
	}
	return all
}

var errNoPeers = errors.New("-peers names no program; make bench-ripc builds it of bench/ripc/peers")

// otherWay measures a round trip, in microseconds.
func otherWay(program, way string, size, count int) (float64, error) {
	if program == "" {
		return 0, errNoPeers
	}
	ctx, cancel := context.WithTimeout(context.Background(), otherLimit)
	defer cancel()
	var said, complaint bytes.Buffer
	c := exec.CommandContext(ctx, program, "-way", way, "-size", strconv.Itoa(size), "-count", strconv.Itoa(count))
	c.Stdout, c.Stderr = &said, &complaint
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", program, err, complaint.String())
	}
	micros, err := strconv.ParseFloat(strings.TrimSpace(said.String()), 64)
	if err != nil || micros <= 0 {
		return 0, fmt.Errorf("%s printed %q, which is no time", program, said.String())
	}
	return micros, nil
}
