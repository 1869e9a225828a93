package way

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/weft-fabric/weft/internal/advertise"
	"github.com/weft-fabric/weft/internal/oneport"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/verbs"
)

// The names by which the listeners of a port are told apart; each push has one more.
const (
	sessions = "control"     // of the node
	nic      = "control-nic" // of the device below it
)

// peerTimeout is after how long a host that says nothing is given up; one whose process has died is found at once. Hosts that write
// to their disks with all they have may be silent for a second.
const peerTimeout = 3 * time.Second

// connectTimeout is after how long somebody is given up who is not met, and nobody else either. It takes sixty agents on a small machine
// a while to shake all hands.
const connectTimeout = 15 * time.Second

// Config says where a process is, and who. Keys is required.
type Config struct {
	Listen    string                                     // host:port where others reach it; empty: on loopback, any port: it dials
	Advertise string                                     // what others dial, if that is another address; without a port: with that of Listen
	Keys      *keys.Keyring                              // who it is, and whom it believes
	Resolver  find.Resolver                              // who finds the services of others; it stays the program's. Nil: it only answers
	Hardware  func(device string) (*verbs.Device, error) // opens an RDMA device, by name or, if that is empty, the best; nil: there is none
	NoShared  bool                                       // never shared memory
	Log       *slog.Logger                               // nil: only what nobody should miss is logged
}

// Place is a process among those that take part in pushes. Its methods may be called from any goroutine.
type Place struct {
	config  Config
	address string // what others dial
	noRDMA  error  // why hardware cannot be used, if there is any
	port    *oneport.Port
	device  *verbs.Device // that the node's messages travel through
	node    *ripc.Node
}

// Open opens a place.
func Open(c Config) (*Place, error) {
	p := &Place{config: c}
	if err := p.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open a way to other hosts: %w", err), p.Close())
	}
	return p, nil
}

func (p *Place) open() (err error) {
	if p.config.Keys == nil {
		return fmt.Errorf("there are no keys: %w", ErrArgument)
	}
	if p.config.Listen == "" {
		p.config.Listen = anyPort
	}
	p.tryHardware()
	if p.port, err = oneport.Listen(p.config.Listen); err != nil {
		return err
	}
	if p.address, err = p.config.dialled(p.port.Addr().String()); err != nil {
		return err
	}
	if p.device, err = p.newNIC(nic, soft.Config{Lanes: soft.TCP, TLS: p.config.Keys.TLS()}); err != nil {
		return err
	}
	listener, err := p.port.Listener(sessions)
	if err != nil {
		return err
	}
	p.node, err = ripc.Open(ripc.Config{Device: p.device, Resolver: p.config.Resolver, Keys: p.config.Keys, Listener: listener,
		Preface: oneport.Preface(sessions), Log: p.config.Log})
	return err
}

// dialled is what others dial to reach a port that is bound somewhere.
func (c *Config) dialled(bound string) (string, error) {
	if c.Advertise == "" {
		return advertise.Address(c.Listen, bound), nil
	}
	_, port, _ := net.SplitHostPort(bound)
	at := c.Advertise
	if _, _, err := net.SplitHostPort(at); err != nil {
		at = net.JoinHostPort(at, port)
	}
	if host, _, err := net.SplitHostPort(at); err != nil || host == "" || advertise.IsEverywhere(at) {
		return "", fmt.Errorf("nobody can dial %q: advertise one address of this host, or its name: %w", c.Advertise, ErrArgument)
	}
	return at, nil
}

// newNIC opens a software NIC that has a listener of its own at the port.
func (p *Place) newNIC(name string, c soft.Config) (*verbs.Device, error) {
	var err error
	if c.Listener, err = p.port.Listener(name); err != nil {
		return nil, err
	}
	c.Name, c.Preface, c.Advertise, c.Log = name, oneport.Preface(name), p.address, p.config.Log
	c.PeerTimeout, c.ConnectTimeout = peerTimeout, connectTimeout
	device, err := soft.New(c)
	if err != nil {
		return nil, err
	}
	return verbs.Open(device)
}

// Node is this process's node: the pusher calls with it, an agent registers its service there.
func (p *Place) Node() *ripc.Node { return p.node }

// Address is what others dial to reach this process.
func (p *Place) Address() string { return p.address }

// Shutdown ends the node well, as ripc.Node.Shutdown does, and closes everything.
func (p *Place) Shutdown(ctx context.Context) error {
	return errors.Join(p.node.Shutdown(ctx), p.Close())
}

// Close ends everything at once but the devices of pushes, which are their callers': nobody can reach those any more. A second
// Close does nothing.
func (p *Place) Close() (failed error) {
	if p.node != nil {
		failed = p.node.Close()
	}
	if p.device != nil {
		failed = errors.Join(failed, p.device.Close())
	}
	if p.port != nil {
		failed = errors.Join(failed, p.port.Close())
	}
	return failed
}
