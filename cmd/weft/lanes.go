package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// lane is a way to a peer that programs can ask for by name.
type lane struct {
	name   string
	reach  connect.Reach
	served bool   // the target's processor does the NIC's work
	what   string // for people
	nic    func(device) (driver.Device, error)
}

// lanes are all that this build has, the best first.
var lanes = []lane{
	{"inproc", connect.SameProcess, false, "within one process", softNIC(soft.InProcess)},
	{"shm", connect.SameHost, false, "shared memory between processes of one user and host", softNIC(soft.SharedMemory)},
	{"ibv", connect.Anywhere, false, "RDMA devices, by libibverbs", ibvNIC},
	{"tcp", connect.Anywhere, true, "TCP between hosts", softNIC(soft.TCP)},
}

func providerNames() []string {
	names := []string{"auto"}
	for _, l := range lanes {
		names = append(names, l.name)
	}
	return names
}

// errProvider is for a name that is not known.
var errProvider = errors.New("there are " + strings.Join(providerNames(), ", "))

func laneNamed(name string) (lane, error) {
	for _, l := range lanes {
		if l.name == name {
			return l, nil
		}
	}
	return lane{}, fmt.Errorf("provider %q: %w", name, errProvider)
}

// usable says why this host cannot use the lane. The name of an RDMA device is of interest to one lane only.
func (l lane) usable(device string) error {
	if l.name != "ibv" {
		return nil
	}
	return ibv.Usable(ibv.Config{Device: device})
}

// device says how a lane is used.
type device struct {
	name    string        // of an RDMA device; empty: the best
	way     way           // on which the peer reaches this host
	timeout time.Duration // of a peer
	plain   bool
	reasons *lastReason // hears why connections fail
}

// way is a connection that leads to the peer; nil: it is in this process.
type way interface {
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
}

// openDevice is a device with what only its own provider knows.
type openDevice struct {
	*verbs.Device
	port rdmaPort // nil: it is no RDMA device
}

// rdmaPort is what an RDMA device can say of itself.
type rdmaPort interface {
	Name() string
	LastPath() ibv.Path
}

// open opens a device that has this lane only, so that what was agreed on is what is used.
func (l lane) open(d device) (openDevice, error) {
	nic, err := l.nic(d)
	if err != nil {
		return openDevice{}, err
	}
	port, _ := nic.(rdmaPort)
	opened, err := verbs.Open(nic)
	return openDevice{opened, port}, err
}

// softNIC is how a lane of the software NIC is opened.
func softNIC(lanes soft.Lanes) func(device) (driver.Device, error) {
	return func(d device) (driver.Device, error) {
		config := soft.Config{Name: "perf", Lanes: lanes, Plain: d.plain, PeerTimeout: d.timeout, Log: slog.New(d.reasons)}
		if lanes == soft.TCP && d.way != nil {
			config.Listen = besides(d.way.LocalAddr())
		}
		return opened(soft.New(config))
	}
}

// ibvNIC opens an RDMA device: of several the one by which the peer is reached.
func ibvNIC(d device) (driver.Device, error) {
	config := ibv.Config{Device: d.name, PeerTimeout: d.timeout, Log: slog.New(d.reasons)}
	if d.way != nil {
		config.Near = ipOf(d.way.RemoteAddr())
	}
	return opened(ibv.Open(config))
}

// opened keeps a nil device of some type from becoming a driver.Device that is not nil.
func opened[D driver.Device](nic D, err error) (driver.Device, error) {
	if err != nil {
		return nil, err
	}
	return nic, nil
}

// ipOf is the IP address of one end of a connection, if it says something about where that is: a Unix socket and loopback
// do not.
func ipOf(address net.Addr) netip.Addr {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
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
