package delivery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/rig/links/network"
)

// Field is where deliveries take place: a host that has the object, those that are to get it, the links between them.
type Field struct {
	network *network.Network
	rate    units.Rate
	text    string        // the rate as it was given
	folder  string        // in memory: files that are sent, files that arrive
	agent   string        // a program that runs a command on a host, for launchers
	self    string        // this program, which plays some roles
	Idle    time.Duration // how long to wait for idle cores before a delivery
	warmth  warmth
}

// Open makes a field with so many receivers. Its links may have no limit: network.Unlimited.
func Open(receivers int, rate string) (*Field, error) {
	f := &Field{text: rate, Idle: idleLimit}
	var err error
	if rate != network.Unlimited {
		if f.rate, err = units.ParseRate(rate); err != nil {
			return nil, err
		}
	}
	if f.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if f.network, err = network.Up(network.Config{Racks: []int{receivers + 1}, Rate: rate}); err != nil {
		return nil, err
	}
	if err := f.furnish(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close takes everything down.
func (f *Field) Close() error {
	f.warmth.give()
	return errors.Join(f.network.Close(), os.RemoveAll(f.folder))
}

// Receivers is how many hosts get the object.
func (f *Field) Receivers() int { return f.network.Hosts() - 1 }

// Load is what is delivered.
type Load struct {
	Bytes   int
	Repeats int // within the same processes, for those who can; the median counts, after one that does not. 1: only one
}

// Sample is how one delivery went.
type Sample struct {
	Seconds float64 // from the first byte to the last one at the last receiver
	Whole   float64 // from the start of the first process to the end of the delivery
	CPU     float64 // seconds of all cores during the delivery, if the contestant tells it; otherwise AllCPU
	AllCPU  float64 // of all its processes from start to end: with making the object and looking at what arrived
	Skew    float64 // between the first receiver's end and the last's, if the contestant tells it
	Bound   float64 // of the schedule's best possible steps, how many for each block; of weft only
	Others  float64 // cores that others kept busy when it began
}

// Contestant is who delivers.
type Contestant struct {
	Name    string
	Kind    Kind
	partly  bool // what it delivers is not all of it, or has no limited link to pass
	deliver func(ctx context.Context, d *Delivery) (Sample, error)
}

// Kind is what contestants have in common.
type Kind string

// The kinds.
const (
	KindWeft    Kind = "weft"
	KindTCP     Kind = "plain TCP"
	KindMPI     Kind = "MPI"
	KindUDPCast Kind = "udpcast"
	KindTorrent Kind = "BitTorrent"
	KindPush    Kind = "weft push"
	KindRsync   Kind = "rsync"
)

// Delivery is one delivery, under way.
type Delivery struct {
	*Field
	Load
	pen       *pen
	began     time.Time
	processes []*process
}

// Deliver has a contestant deliver a load.
func (f *Field) Deliver(ctx context.Context, c Contestant, load Load) (s Sample, err error) {
	others, err := awaitIdle(ctx, f.Idle)
	if err != nil {
		return s, err
	}
	if err := f.warmth.take(ctx, f.network.Hosts()*load.Bytes); err != nil {
		return s, err
	}
	if c.Kind != KindTCP { // a copy needs little, and would leave the rest cold
		f.warmth.give()
	}
	d := &Delivery{Field: f, Load: load, began: time.Now()}
	if d.pen, err = newPen(); err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.limit(c, load))
	defer func() {
		err = errors.Join(err, d.end(cancel), f.warmth.take(context.Background(), f.network.Hosts()*load.Bytes))
	}()
	s, err = c.deliver(ctx, d)
	s.Others = others
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.Name, err)
	}
	if s.Whole == 0 {
		s.Whole = time.Since(d.began).Seconds()
	}
	if s.AllCPU, err = d.pen.cpu(); err != nil {
		return s, err
	}
	if s.CPU == 0 {
		s.CPU = s.AllCPU
	}
	return s, f.plausible(c, load, s)
}

// end ends whoever is still there, waits for them, and removes what arrived: nobody has to do that for the one before.
func (d *Delivery) end(cancel context.CancelFunc) error {
	cancel()
	err := d.pen.close()
	for _, p := range d.processes {
		<-p.ended
	}
	for host := range d.network.Hosts() {
		err = errors.Join(err, os.RemoveAll(d.placeOf(host)))
	}
	return err
}

// start starts a process on a host.
func (d *Delivery) start(ctx context.Context, host int, name string, arguments ...string) (*process, error) {
	return d.startCommand(d.network.Command(ctx, host, name, arguments...))
}

func (d *Delivery) startCommand(command *exec.Cmd) (*process, error) {
	d.pen.hold(command)
	p, err := startProcess(command)
	if err == nil {
		d.processes = append(d.processes, p)
	}
	return p, err
}

// play starts this program on a host, in a role.
func (d *Delivery) play(ctx context.Context, host int, role string, arguments ...string) (*process, error) {
	return d.start(ctx, host, d.self, append([]string{"bench", "play", role}, arguments...)...)
}

// LinkTime is how long so many bytes take over one link, with no header around them: nobody is faster, but for what a token
// bucket had saved. Of links without a limit nothing is known.
func (f *Field) LinkTime(bytes int) time.Duration {
	if f.rate == 0 {
		return 0
	}
	return time.Duration(float64(bytes) * 8 / float64(f.rate) * float64(time.Second))
}

// limit is how long a delivery may take: its start, and several times what one copy takes. Plain copies are made by one host.
func (f *Field) limit(c Contestant, load Load) time.Duration {
	const start, patience = 30 * time.Second, 6
	copies := patience
	if c.Kind == KindTCP || c.Kind == KindRsync {
		copies = 2 * f.Receivers()
	}
	return start + time.Duration(copies*(load.Repeats+1))*f.LinkTime(load.Bytes)
}

// plausible refuses a time in which the object cannot have passed the links. A little may: what a token bucket had saved. And on
// a busy machine a meter may see the first byte late.
func (f *Field) plausible(c Contestant, load Load, s Sample) error {
	const late = 5 * meterStep
	if c.partly {
		return nil
	}
	if best := f.LinkTime(load.Bytes).Seconds(); s.Seconds < 0.95*best-late.Seconds() {
		return fmt.Errorf("%s says %.3f s, but the links need %.3f s: it went around them", c.Name, s.Seconds, best)
	}
	return nil
}

// Address is where a host is.
func (f *Field) Address(host int) string { return f.network.Address(host) }

// Folder is where files lie, in memory if there is room.
func (f *Field) Folder() string { return f.folder }

// addresses are those of all hosts, the sender's first.
func (f *Field) addresses() (all []string) {
	for host := range f.network.Hosts() {
		all = append(all, f.network.Address(host))
	}
	return all
}

// at joins each receiver's address with a port.
func (f *Field) at(port string) string {
	return strings.Join(f.addresses()[1:], ":"+port+",") + ":" + port
}
