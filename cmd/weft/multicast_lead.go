package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/verbs"
)

// simulate runs the job in the simulator.
func (s *multicastSettings) simulate(ctx context.Context, show *castShow) (err error) {
	show.report, err = cast.Simulate(ctx, &s.job, cast.Fabric{}, show.watch())
	return err
}

// lead runs the job as the root, with members that wait at addresses.
func (s *multicastSettings) lead(ctx context.Context, show *castShow, addresses []string) (err error) {
	var reason lastReason
	leader := cast.Leader{End: s.end(&reason), Job: &s.job, Addresses: addresses, Timeout: s.timeout, Watch: show.watch()}
	leader.Watch.Passed = s.say
	show.report, err = leader.Lead(ctx)
	return s.provider.explainMeeting(s.explain(err, &reason))
}

// explain adds why RDMA does not lead to the others, where the completion says only that it does not. The other lanes
// would add only that somebody is gone.
func (s *multicastSettings) explain(err error, reason *lastReason) error {
	if s.provider.lane != "ibv" {
		return err
	}
	return reason.explain(err)
}

// end is what this process brings along.
func (s *multicastSettings) end(reason *lastReason) cast.End {
	return cast.End{Options: s.connectOptions(), Open: func(job *cast.Job, name string, session *connect.Session) (*verbs.Device, error) {
		l, err := laneNamed(name)
		if err != nil {
			return nil, err
		}
		opened, err := l.open(device{name: s.provider.device, way: session, timeout: job.Timeout, plain: s.plain, reasons: reason})
		return opened.Device, err
	}}
}

// leadChildren starts the other members here, and runs the job with them.
func (s *multicastSettings) leadChildren(outer context.Context, show *castShow) (err error) {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	family := &family{cancel: cancel, grace: s.peerTimeout + patience}
	defer func() { err = errors.Join(err, family.end(err == nil)) }()
	var addresses []string
	for rank := 1; rank < s.local; rank++ {
		address := fmt.Sprintf("unix:@weft-multicast-%d-%s", os.Getpid(), rand.Text())
		pid, err := family.start(s, rank, address)
		if err != nil {
			return err
		}
		s.job.Members[rank] = fmt.Sprintf("process %d", pid)
		addresses = append(addresses, address)
	}
	show.formed = func() { family.formed.Store(true) }
	err = s.lead(ctx, show, addresses)
	if errors.Is(err, context.Canceled) && outer.Err() == nil {
		return context.Cause(ctx) // a child has ended by itself, and that is why the root has given up
	}
	return err
}

// family is the members that were started here.
type family struct {
	children []*child
	cancel   context.CancelCauseFunc
	grace    time.Duration
	formed   atomic.Bool // the group is there, and notices by itself who has failed
}

func (f *family) start(s *multicastSettings, rank int, address string) (pid int, err error) {
	args := []string{"multicast", "--serve=" + address, "--child", "--json", "--provider", s.provider.lane}
	if s.provider.device != "" && s.provider.lane == "ibv" {
		args = append(args, "--device", s.provider.device)
	}
	c, err := startChild(fmt.Sprint("member ", rank), args)
	if err != nil {
		return 0, err
	}
	pid = c.command.Process.Pid
	c.what += fmt.Sprintf(" (process %d)", pid)
	f.children = append(f.children, c)
	go c.runWait(f.lost)
	return pid, nil
}

// lost hears that a child has failed. The group says better who was the first, if there is one already.
func (f *family) lost(err error) {
	if f.formed.Load() {
		time.AfterFunc(f.grace, func() { f.cancel(err) })
		return
	}
	f.cancel(err)
}

// end waits for the children, which have ended by themselves if the job was done, and otherwise are told to.
func (f *family) end(done bool) (err error) {
	for _, c := range f.children {
		if !done {
			_ = c.input.Close() // it may have ended
		}
	}
	soon := time.After(patience)
	for _, c := range f.children {
		select {
		case <-c.ended:
		case <-soon:
			done = false
		}
		if failed := c.end(); done && err == nil {
			err = failed
		}
	}
	return err
}
