package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// lane is a way to a peer that programs can ask for by name.
type lane struct {
	name   string
	lanes  soft.Lanes
	reach  connect.Reach
	served bool   // the target's processor does the NIC's work
	what   string // for people
}

// lanes are all that this build has, the best first.
var lanes = []lane{
	{"inproc", soft.InProcess, connect.SameProcess, false, "within one process"},
	{"shm", soft.SharedMemory, connect.SameHost, false, "shared memory between processes of one user and host"},
	{"tcp", soft.TCP, connect.Anywhere, true, "TCP between hosts"},
}

// provider is a value of --provider.
type provider struct{ lane string } // "auto" or the name of a lane

func providerNames() []string {
	names := []string{"auto"}
	for _, l := range lanes {
		names = append(names, l.name)
	}
	return names
}

// errProvider is for a name that is not known.
var errProvider = errors.New("there are " + strings.Join(providerNames(), ", "))

func findProvider(name string) (provider, error) {
	if !slices.Contains(providerNames(), name) {
		return provider{}, errProvider
	}
	return provider{name}, nil
}

// offers is what a process offers its peer, the best first.
func (p provider) offers(timeout time.Duration) []connect.Offer {
	var offers []connect.Offer
	for _, l := range lanes {
		if p.lane == l.name || p.lane == "auto" && l.reach != connect.SameProcess {
			offers = append(offers, connect.Offer{Provider: l.name, Reach: l.reach, PeerTimeout: timeout})
		}
	}
	return offers
}

func laneNamed(name string) (lane, error) {
	for _, l := range lanes {
		if l.name == name {
			return l, nil
		}
	}
	return lane{}, fmt.Errorf("provider %q: %w", name, errProvider)
}

// device says how a lane is used.
type device struct {
	session *connect.Session // the way on which the peer reaches this host; nil: it is in this process
	timeout time.Duration    // of a peer
	plain   bool
	reasons *lastReason // hears why connections fail
}

// open opens a device that has this lane only, so that what was agreed on is what is used.
func (l lane) open(d device) (*verbs.Device, error) {
	config := soft.Config{Name: "perf", Lanes: l.lanes, Plain: d.plain, PeerTimeout: d.timeout, Log: slog.New(d.reasons)}
	if d.session != nil && l.reach == connect.Anywhere {
		config.Listen = besides(d.session.LocalAddr())
	}
	nic, err := soft.New(config)
	if err != nil {
		return nil, err
	}
	return verbs.Open(nic)
}

// besides is where to listen so that the peer of a connection reaches it: the same address, another port. The default
// will do for a Unix socket, whose peer is on this host.
func besides(local net.Addr) string {
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return ""
	}
	return net.JoinHostPort(tcp.IP.String(), "0")
}

// filesBeside is how many descriptors a process with one thread has beside those of its queue pairs, counted, and a few
// for what it has inherited. Each further thread has filesOfThread more.
const (
	filesBeside   = 24
	filesOfThread = 2
)

// checkFiles says early what would fail late: on TCP a queue pair takes a descriptor.
func (l lane) checkFiles(pairs, threads int) error {
	var limit unix.Rlimit
	if l.name != "tcp" {
		return nil
	}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	need := pairs + filesBeside + (threads-1)*filesOfThread
	if uint64(need) <= limit.Cur {
		return nil
	}
	return fmt.Errorf("%s: %d open files are needed, and the limit is %d: raise it by ulimit -n %d, or lower --pairs",
		counted(pairs, "TCP queue pair"), need, limit.Cur, need)
}
