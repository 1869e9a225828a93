package rdmc

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// member is one end of a group on a device of its own, and what its callbacks heard.
type member struct {
	rank   int
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
	group  *Group

	memory    *verbs.Memory // where messages come to, one behind the other
	used      uint64
	ready     int
	incoming  []Message
	completed []Delivery
	contents  [][]byte // of completed
	failures  []*Failure
	quiet     []byte // the memory when Failed was called
	closed    int
	late      []string // calls that came after the last one
	crashed   bool
	extra     *verbs.Memory // closed at the end
	prepare   func(*member)
}

// rig is a group in the simulator.
type rig struct {
	t       testing.TB
	fabric  *sim.Fabric
	members []*member
	memory  uint64 // bytes of each member's memory
	wrap    func(rank int, device driver.Device) driver.Device
	change  func(rank int, c *Config)
	prepare func(m *member) // before its group is made
}

func newFabric(t testing.TB, seed uint64) *sim.Fabric {
	t.Helper()
	fabric, err := sim.New(sim.Config{Seed: seed})
	check(t, err)
	return fabric
}

// form makes the members, connects them, and waits until all are ready.
func (r *rig) form(config Config) {
	r.t.Helper()
	r.open(config)
	r.connect()
	r.run("ready", func(m *member) bool { return m.ready == 1 })
}

func (r *rig) open(config Config) {
	r.t.Helper()
	if r.fabric == nil {
		r.fabric = newFabric(r.t, 1)
	}
	for rank := range config.Members {
		m := &member{rank: rank}
		r.members = append(r.members, m)
		nic, err := r.fabric.NewDevice(sim.NodeConfig{Name: config.Members[rank]})
		check(r.t, err)
		var device driver.Device = nic
		if r.wrap != nil {
			device = r.wrap(rank, device)
		}
		config.Self = rank
		own := config
		if r.change != nil {
			r.change(rank, &own)
		}
		m.prepare = r.prepare
		m.open(r.t, device, own, r.memory)
		r.t.Cleanup(func() {
			if err := m.close(); !m.crashed {
				check(r.t, err)
			}
		})
	}
}

func (m *member) open(t testing.TB, device driver.Device, config Config, memory uint64) {
	t.Helper()
	var err error
	m.device, err = verbs.Open(device)
	check(t, err)
	m.domain, err = m.device.NewDomain()
	check(t, err)
	room, err := CompletionRoom(config)
	check(t, err)
	m.queue, err = m.device.NewCompletionQueue(max(4*room, 500))
	check(t, err)
	m.loop, err = loop.New(loop.Config{Completions: m.queue})
	check(t, err)
	switch {
	case memory > 0 && config.Phantom:
		m.memory, err = m.domain.AllocPhantom(memory, 0)
	case memory > 0:
		m.memory, err = m.domain.Alloc(int(memory), 0)
	}
	check(t, err)
	if m.prepare != nil {
		m.prepare(m)
	}
	m.listen(&config)
	m.group, err = New(m.loop, m.domain, config)
	check(t, err)
}

// listen sets the callbacks that are not set.
func (m *member) listen(c *Config) {
	ready := c.Ready
	c.Ready = func() {
		m.call("Ready")
		if m.ready++; ready != nil {
			ready()
		}
	}
	if c.Incoming == nil {
		c.Incoming = func(msg Message) Place {
			m.call("Incoming")
			m.incoming = append(m.incoming, msg)
			return m.place(msg.Size)
		}
	}
	completed := c.Completed
	c.Completed = func(d Delivery) {
		m.call("Completed")
		m.completed = append(m.completed, d)
		if d.Memory != nil && d.Memory.Bytes() != nil {
			m.contents = append(m.contents, append([]byte(nil), d.Memory.Bytes()[d.Offset:d.Offset+d.Size]...))
		}
		if completed != nil {
			completed(d)
		}
	}
	c.Failed = func(f *Failure) {
		m.call("Failed")
		m.failures = append(m.failures, f)
		if m.memory != nil {
			m.quiet = bytes.Clone(m.memory.Bytes())
		}
	}
	c.Closed = func() { m.call("Closed"); m.closed++ }
}

// call notes calls that must not be any more.
func (m *member) call(what string) {
	if m.closed > 0 || len(m.failures) > 0 && what != "Closed" {
		m.late = append(m.late, what)
	}
}

// place takes the next piece of the memory.
func (m *member) place(size uint64) Place {
	place := Place{m.memory, m.used}
	m.used += size
	return place
}

func (r *rig) connect() {
	r.t.Helper()
	for _, m := range r.members {
		for _, peer := range m.group.Peers() {
			check(r.t, m.group.Agrees(peer, r.members[peer].group.Description()))
			check(r.t, m.group.Connect(peer, r.members[peer].group.Addresses(m.rank)))
		}
	}
}

// run lets virtual time pass until something is true of all members that are up.
func (r *rig) run(what string, done func(*member) bool) {
	r.t.Helper()
	all := func() bool {
		for _, m := range r.members {
			if !m.crashed && !done(m) {
				return false
			}
		}
		return true
	}
	if err := r.fabric.RunUntil(all, r.fabric.Now().Add(time.Hour)); err != nil {
		r.t.Fatalf("%s: %v\n%s", what, err, r.describe())
	}
}

func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	check(r.t, r.fabric.Run(r.fabric.Now().Add(d)))
}

func (r *rig) describe() string {
	s := ""
	for _, m := range r.members {
		msg, have, active := m.group.Progress()
		s += fmt.Sprintf("%d: state %d, %d completed, failures %v, message %+v has %d (%t)\n", m.rank, m.group.state,
			len(m.completed), m.failures, msg, have, active)
	}
	return s
}

func (m *member) close() error {
	failed := m.loop.Close()
	m.group.Discard()
	for _, memory := range []*verbs.Memory{m.memory, m.extra} {
		if memory != nil {
			failed = errors.Join(failed, memory.Close())
		}
	}
	return errors.Join(failed, m.queue.Close(), m.domain.Close(), m.device.Close())
}

// names makes members.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("n", i)
	}
	return list
}

// fill writes bytes that differ everywhere, and returns where they lie.
func (m *member) fill(size uint64) Place {
	place := m.place(size)
	for i := range size {
		m.memory.Bytes()[place.Offset+i] = byte((place.Offset+i)*2654435761>>16) ^ byte(i)
	}
	return place
}

// crash stops a member.
func (r *rig) crash(rank int) {
	r.t.Helper()
	r.members[rank].crashed = true
	check(r.t, r.fabric.Crash(r.members[rank].group.config.Members[rank]))
}
