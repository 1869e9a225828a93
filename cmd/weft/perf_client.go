package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/connect"
)

// measured runs a client and prints what it measures, also if it is interrupted.
func (s *perfSettings) measured(ctx context.Context, work func(context.Context, *meter) error) error {
	m := newMeter(s)
	err := work(ctx, m)
	return isUsage(errors.Join(err, m.finish(err)))
}

// connectOptions says who this process is, and what it can use.
func (s *perfSettings) connectOptions() connect.Options {
	return connect.Options{Name: "weft perf", Version: version, Offers: s.provider.offers(s.timeout), Plain: s.plain}
}

// device says how a lane is used.
func (s *perfSettings) device(timeout time.Duration, reason *lastReason) device {
	return device{name: s.provider.device, timeout: timeout, plain: s.plain, reasons: reason}
}

// dialServer measures with a server. Wait says that the server may not listen yet.
func dialServer(ctx context.Context, s *perfSettings, m *meter, address string, wait bool) (err error) {
	options := s.connectOptions()
	options.Wait = wait
	session, err := connect.Dial(ctx, address, options)
	if err != nil {
		return s.provider.explainMeeting(err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	return s.provider.overLanes(session, s.say, func(l lane, offer connect.Offer) error {
		return measureOver(ctx, s, m, session, l, offer.PeerTimeout)
	})
}

// measureOver measures with the server of a session, over a lane that both have.
func measureOver(ctx context.Context, s *perfSettings, m *meter, session *connect.Session, l lane, timeout time.Duration) (err error) {
	if err := l.checkFiles(s.plan.Pairs, s.plan.Threads); err != nil {
		return err
	}
	var reason lastReason
	device, err := l.openWith(ctx, session, s.device(timeout, &reason))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	m.meet(l, device.port, session.Peer().String(), timeout)
	side := perftest.Side{Device: device.Device, Exchange: session, Served: l.served, Cores: s.cores}
	return l.noWay(reason.explain(m.run(ctx, side, s.plan)))
}

// noWay makes errNoWay of queue pairs that cannot be connected.
func (l lane) noWay(err error) error {
	if errors.Is(err, perftest.ErrConnect) {
		return l.fails(err)
	}
	return err
}

// measureInProcess has both sides in this process.
func measureInProcess(ctx context.Context, s *perfSettings, m *meter) error {
	clientCores, serverCores := s.share()
	return withinProcess(ctx, lanes[0], device{timeout: s.timeout}, serverCores, func(side perftest.Side) error {
		side.Cores = clientCores
		m.meet(lanes[0], nil, "this process", s.timeout)
		return m.run(ctx, side, s.plan)
	})
}

// withinProcess gives measure a server in this process that is reached by a lane, from a device like its own.
func withinProcess(ctx context.Context, l lane, d device, serverCores []int, measure func(perftest.Side) error) (err error) {
	reason := &lastReason{}
	d.reasons = reason
	var devices [2]openDevice
	for i := range devices {
		if devices[i], err = l.open(d); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, devices[i].Close()) }()
	}
	here, there := perftest.NewPipe()
	server := perftest.Server{Side: perftest.Side{Device: devices[1].Device, Exchange: there, Served: l.served, Cores: serverCores,
		Together: true}}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(context.WithoutCancel(ctx)) }()
	err = measure(perftest.Side{Device: devices[0].Device, Exchange: here, Served: l.served, Together: true})
	here.Close()
	if failed := <-ended; err == nil {
		return failed
	}
	return reason.explain(err) // which says what the server said, too
}

// measureWithChild starts a server as a child of this process, and measures with it.
func measureWithChild(ctx context.Context, s *perfSettings, m *meter) error {
	address := fmt.Sprintf("unix:@weft-perf-%d-%s", os.Getpid(), rand.Text())
	child, err := startServer(s, address)
	if err != nil {
		return err
	}
	dialing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go child.runWait(cancel)
	clientCores, _ := s.share()
	client := *s
	client.cores = clientCores
	err = dialServer(dialing, &client, m, address, true)
	failed := child.end()
	if isInterrupt(err) && ctx.Err() == nil {
		return failed // the child ended by itself, and that is why the client has given up
	}
	return err
}

// startServer starts the server of --local.
func startServer(s *perfSettings, address string) (*child, error) {
	args := []string{"perf", "--serve=" + address, "--child", "--json", "--provider", s.provider.lane}
	if s.provider.device != "" && s.provider.lane == "ibv" {
		args = append(args, "--device", s.provider.device)
	}
	if _, cores := s.share(); len(cores) > 0 {
		args = append(args, "--pin", joinCores(cores))
	}
	return startChild("the server", args)
}

func joinCores(cores []int) string {
	var words []string
	for _, core := range cores {
		words = append(words, strconv.Itoa(core))
	}
	return strings.Join(words, ",")
}
