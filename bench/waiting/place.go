package waiting

import (
	"context"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// place is where the members are.
type place struct {
	name  string // for people
	lane  string // that joins them
	weft  string
	rate  string // of the links, or nearly: without it weft would measure one copy first
	links *links // nil: this host
}

// sampleLimit is how long a sample may take. It is not expected to take seconds.
const sampleLimit = time.Minute

// measure takes one sample.
func (p *place) measure(ctx context.Context, s setting) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	if p.links != nil {
		return take(p.links.root(ctx, p, s), p.lane)
	}
	root := exec.CommandContext(ctx, p.weft, append(s.arguments(s.size.repeats), "--provider", p.lane, "--rate", p.rate,
		"--local", strconv.Itoa(members))...)
	root.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	endPolitely(root) // it ends its children
	return take(root, p.lane)
}

// politeTime is how long a process may take to end.
const politeTime = 10 * time.Second

// endPolitely has a command end by SIGTERM when its context ends, and by force if it does not.
func endPolitely(c *exec.Cmd) {
	c.Cancel, c.WaitDelay = func() error { return c.Process.Signal(syscall.SIGTERM) }, politeTime
}

// linkRate is that of limited links: members that poll leave the machine enough to fill them.
const linkRate = "400mbit"

// places are those that this machine has, and what is missing.
func places(ctx context.Context, weft string) (all []*place, missing error) {
	for _, lane := range []string{"shm", "tcp"} {
		all = append(all, &place{name: lane, lane: lane, weft: weft, rate: "100gbit"})
	}
	l, err := newLinks(ctx, weft)
	if err != nil {
		return all, err
	}
	return append(all, &place{name: linkRate + " links", lane: "tcp", weft: weft, rate: linkRate, links: l}), nil
}
