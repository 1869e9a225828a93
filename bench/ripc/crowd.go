package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/pinned"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/static"
	"github.com/weft-fabric/weft/verbs"
)

const (
	crowdServices = 10_000 // of one process
	crowdPeers    = 1_000  // that call them
)

// measureCrowds finds what services cost with many peers: over TCP, as those of other hosts come, and through shared memory.
func measureCrowds() ([]contest.Result, error) {
	overTCP, err := measureCrowd(soft.TCP, "over TCP", 4)
	if err != nil {
		return overTCP, err
	}
	shared, err := measureCrowd(soft.SharedMemory, "through shared memory", 0)
	return append(overTCP, shared[1:]...), err
}

// measureCrowd finds what a service costs in a process that has many of them, and many peers: the process grows by its
// services, and by the links to those who call them. Through shared memory a peer's own words count here too: both have them mapped.
func measureCrowd(lane soft.Lanes, way string, bound float64) ([]contest.Result, error) {
	rows := []contest.Result{
		{What: "memory of one of 10,000 services", Unit: "KiB", Bound: 4, AtMost: true},
		{What: "memory of one of 10,000 services, with links to 1,000 peers " + way, Unit: "KiB", Bound: bound, AtMost: bound > 0},
		{What: "memory of one of 1,000 peers " + way, Unit: "KiB"},
	}
	var grown struct{ Services, All float64 } // KiB
	err := pinned.Two("crowd", "host", func(crowd, host *pinned.Process) error {
		var there hello
		if err := errors.Join(host.Send(lane), crowd.Send(lane), host.Receive(&there), crowd.Send(there)); err != nil {
			return err
		}
		var linked string
		return errors.Join(crowd.Receive(&linked), host.Send("linked"), host.Receive(&grown), crowd.Send("go"))
	})
	rows[0].Value, rows[1].Value = grown.Services/crowdServices, grown.All/crowdServices
	rows[2].Value = (grown.All - grown.Services) / crowdPeers
	return rows, err
}

func serviceName(i int) string { return "service/" + strconv.Itoa(i) }

// playHost has the services, and says how far it has grown by them and by their callers.
func playHost(parent *pinned.Line) error {
	debug.SetGCPercent(100)
	return pinned.Unlocked(func() (err error) {
		var lane soft.Lanes
		if err := parent.Receive(&lane); err != nil {
			return err
		}
		device, node, err := crowdNode(lane, ripc.Config{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, node.Close(), device.Close()) }()
		before, err := resident()
		if err != nil {
			return err
		}
		for i := range crowdServices {
			s, err := node.Register(context.Background(), serviceName(i))
			if err != nil {
				return err
			}
			if i < crowdPeers {
				go func() { _ = s.Serve(context.Background(), 1, crowdAnswer) }() // until the node is closed
			}
		}
		services, err := resident()
		if err != nil {
			return err
		}
		var linked string
		if err := errors.Join(parent.Send(hello{Listen: node.Addresses()}), parent.Receive(&linked)); err != nil {
			return err
		}
		all, err := resident()
		if err != nil {
			return err
		}
		return parent.Send(struct{ Services, All float64 }{services - before, all - before})
	})
}

func crowdAnswer(ctx context.Context, m *ripc.Message) error { return m.Answer(ctx) }

// playCrowd opens a node for each peer. Each calls a service of its own.
func playCrowd(parent *pinned.Line) error {
	debug.SetGCPercent(100)
	return pinned.Unlocked(func() (err error) {
		var lane soft.Lanes
		var there hello
		if err := errors.Join(parent.Receive(&lane), parent.Receive(&there)); err != nil {
			return err
		}
		for i := range crowdPeers {
			device, node, err := crowdPeer(i, lane, there)
			if err != nil {
				return fmt.Errorf("peer %d: %w", i, err)
			}
			defer func() { _ = errors.Join(node.Close(), device.Close()) }() // the process is about to end
		}
		var next string
		return errors.Join(parent.Send("linked"), parent.Receive(&next))
	})
}

func crowdPeer(i int, lane soft.Lanes, there hello) (*verbs.Device, *ripc.Node, error) {
	table, err := static.New(map[string][]string{serviceName(i): there.Listen})
	if err != nil {
		return nil, nil, err
	}
	device, node, err := crowdNode(lane, ripc.Config{Resolver: table})
	if err != nil {
		return nil, nil, err
	}
	m, err := node.Call(context.Background(), ripc.Name(serviceName(i)))
	if err != nil {
		return nil, nil, errors.Join(err, node.Close(), device.Close())
	}
	m.Release()
	return device, node, nil
}

func crowdNode(lane soft.Lanes, config ripc.Config) (*verbs.Device, *ripc.Node, error) {
	device, err := openDevice(lane)
	if err != nil {
		return nil, nil, err
	}
	config.Device = device
	node, err := ripc.Open(config)
	if err != nil {
		return nil, nil, errors.Join(err, device.Close())
	}
	return device, node, nil
}

// resident is how much memory this process has, in KiB, after what is not needed was given back.
func resident() (float64, error) {
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			return strconv.ParseFloat(fields[1], 64)
		}
	}
	return 0, errors.New("/proc/self/status has no VmRSS")
}
