package rdmc

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// At no moment has a member more than Credits + 1 receives for data posted, or more than Sends blocks under way. The next
// message starts while the last one drains. All invariants hold after each event.
func TestWindows(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
		r := &rig{t: t, memory: 1 << 20}
		r.form(Config{Name: "g", Members: names(6), Algorithm: algorithm, BlockSize: 1 << 10, Credits: 3, Sends: 2})
		for range 5 {
			_, err := r.members[0].group.Send(r.members[0].fill(20_000), 20_000)
			check(t, err)
		}
		seen := map[string]int{}
		for len(r.members[5].completed) < 5 {
			_, err := r.fabric.Step()
			check(t, err)
			for _, m := range r.members {
				m.group.measure(seen)
				check(t, m.group.check())
			}
		}
		if seen["receives"] != 4 || seen["sends"] != 2 || seen["messages"] < 2 {
			t.Errorf("%v: at most %v at a time", algorithm, seen)
		}
	}
}

// measure notes the most that was ever outstanding, as package verbs counts it.
func (g *Group) measure(seen map[string]int) {
	receives, sends := 0, 0
	for i := range g.links {
		l := &g.links[i]
		receives += g.config.Credits + 1 - l.data.ReceiveRoom()
		sends += g.config.Sends - l.data.Room()
	}
	seen["receives"] = max(seen["receives"], receives)
	seen["sends"] = max(seen["sends"], sends)
	seen["messages"] = max(seen["messages"], len(g.active))
}

// With Offload the NIC passes everything on, once it is posted: the host in the middle may stand still.
func TestOffloadNeedsNoHost(t *testing.T) {
	const size = 40 << 10
	for _, algorithm := range []schedule.Algorithm{schedule.Chain, schedule.Pipeline} {
		r := &rig{t: t, memory: 1 << 20}
		r.form(Config{Name: "g", Members: names(4), Algorithm: algorithm, BlockSize: 1 << 10, Offload: true})
		check(t, r.fabric.SlowNode("n0", 0.001)) // so that all is posted long before the blocks have come
		_, err := r.members[0].group.Send(r.members[0].fill(size), size)
		check(t, err)
		r.run("posted", func(m *member) bool { return m.rank == 0 || len(m.group.active) == 1 && m.group.sendAt == 1 })
		if _, have, _ := r.members[1].group.Progress(); have > 20 {
			t.Fatalf("%d blocks had come already", have)
		}
		r.members[1].queue.Drive(nil)
		r.run("completed", func(m *member) bool { return m.rank == 1 || len(m.completed) == 1 })
		r.members[1].queue.Drive(r.members[1].loop)
		r.members[1].queue.Wake()
		r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
		r.closeAll()
	}
}

// A message of one block is the application's as long as it wants; while it keeps all buffers, none comes.
func TestKeep(t *testing.T) {
	r := &rig{t: t, memory: 1 << 12}
	var kept []Delivery
	r.change = func(rank int, c *Config) {
		if rank == 1 {
			c.Completed = func(d Delivery) { kept = append(kept, d); r.members[1].group.Keep(d.Number) }
		}
	}
	r.form(Config{Name: "g", Members: names(2), BlockSize: 64, Arrivals: 2})
	for i := range 5 {
		_, err := r.members[0].group.Send(r.members[0].fill(64), 64)
		check(t, err)
		r.pass(time.Millisecond)
		if want := min(i+1, 2); len(kept) != want {
			t.Fatalf("%d messages came, want %d", len(kept), want)
		}
	}
	for i := range 5 {
		for n, d := range kept[i:] {
			if got := string(d.Memory.Bytes()[d.Offset:][:64]); got != string(r.members[0].contents[i+n]) {
				t.Errorf("message %d has changed", d.Number)
			}
		}
		r.members[1].group.Release(uint64(i))
		r.members[1].group.Release(uint64(i)) // a second time is nothing
		r.pass(time.Millisecond)
		if want := min(i+3, 5); len(kept) != want {
			t.Fatalf("%d messages came, want %d", len(kept), want)
		}
	}
	r.closeAll()
}

// Calls that make no sense are refused, and change nothing.
func TestCallsAreRefused(t *testing.T) {
	r := &rig{t: t, memory: 1 << 12}
	r.open(Config{Name: "g", Members: names(3), Algorithm: schedule.Chain, BlockSize: 64, MaxMessage: 1 << 11})
	root, leaf := r.members[0], r.members[2]
	whole := Place{Memory: root.memory}
	expect := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	send := func(g *Group, place Place, size uint64) error { _, err := g.Send(place, size); return err }
	expect("early", send(root.group, whole, 10), ErrNotReady)
	expect("a stranger", root.group.Connect(2, make([]verbs.Address, 2)), ErrArgument)
	expect("nobody", root.group.Connect(-1, nil), ErrArgument)
	expect("one address", root.group.Connect(1, root.group.Addresses(1)[:1]), ErrArgument)
	if got := root.group.Addresses(2); got != nil {
		t.Errorf("addresses for a stranger: %v", got)
	}
	r.connect()
	r.run("ready", func(m *member) bool { return m.ready == 1 })
	expect("a receiver sends", send(leaf.group, whole, 10), ErrNotRoot)
	expect("no memory", send(root.group, Place{}, 10), ErrArgument)
	expect("outside", send(root.group, Place{root.memory, 4000}, 100), ErrArgument)
	expect("far outside", send(root.group, Place{root.memory, 1<<64 - 1}, 100), ErrArgument)
	expect("too large", send(root.group, whole, 1<<11+1), ErrArgument)
	expect("nothing waits", leaf.group.Provide(0, whole), ErrArgument)
	expect("no gate", leaf.group.Accept(0, 0), ErrArgument)
	expect("no gate", leaf.group.Reject(0, -5, nil), ErrArgument)
	for range MaxQueued {
		check(t, send(root.group, whole, 1))
	}
	expect("full", send(root.group, whole, 1), ErrFull)
	r.run("completed", func(m *member) bool { return len(m.completed) == MaxQueued })
	r.closeAll()
	expect("after the end", send(root.group, whole, 1), ErrEnded)
	expect("after the end", leaf.group.Provide(0, whole), ErrEnded)
	expect("after the end", root.group.Connect(1, nil), ErrEnded)
	check(t, root.group.Close())
}

// A configuration that makes no sense is refused with words.
func TestConfigMakesNoSense(t *testing.T) {
	r := &rig{t: t}
	r.open(Config{Name: "g", Members: names(1), BlockSize: 64})
	m := r.members[0]
	incoming := func(Message) Place { return Place{} }
	for name, c := range map[string]Config{
		"nobody":          {},
		"not a member":    {Members: names(2), Self: 2},
		"negative":        {Members: names(2), Self: -1},
		"twice":           {Members: []string{"a", "b", "a"}},
		"nameless":        {Members: []string{"a", ""}},
		"no block":        {Members: names(2), BlockSize: -1},
		"a huge block":    {Members: names(2), BlockSize: 1<<31 - 1},
		"no credit":       {Members: names(2), Credits: -1},
		"many sends":      {Members: names(2), Sends: MaxWindow + 1},
		"no buffer":       {Members: names(2), Arrivals: -1},
		"no patience":     {Members: names(2), Stall: 1},
		"a blind gate":    {Members: names(2), Gate: true},
		"nowhere":         {Members: names(2), Self: 1},
		"no such pattern": {Members: names(2), Algorithm: 99},
		"too few racks":   {Members: names(2), Algorithm: schedule.RackChain, Racks: []int{1}},
	} {
		if name != "nowhere" {
			c.Incoming = incoming
		}
		g, err := New(m.loop, m.domain, c)
		if g != nil || !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(nil, nil, Config{}); !errors.Is(err, ErrArgument) {
		t.Errorf("no loop: %v", err)
	}
	if _, err := New(m.loop, m.domain, Config{Members: names(200), Algorithm: schedule.Sequential}); err == nil {
		t.Error("200 links fit into a queue of 500")
	}
}

// A peer that has something else hears what, by name.
func TestAgrees(t *testing.T) {
	r := &rig{t: t}
	r.open(Config{Name: "g", Members: names(3), BlockSize: 64})
	g := r.members[0].group
	for want, change := range map[string]func(*Config){
		"":                                 func(*Config) {},
		"has block size 65, we have 64":    func(c *Config) { c.BlockSize = 65 },
		"has credits 5, we have 3":         func(c *Config) { c.Credits = 5 },
		"has group name h, we have g":      func(c *Config) { c.Name = "h" },
		"has offload true, we have false":  func(c *Config) { c.Offload = true; c.Credits = 3 },
		"has stripes 3, we have 2":         func(c *Config) { c.Stripes = 3 },
		"has number of members 4, we have": func(c *Config) { c.Members = names(4) },
		`called "x", we have "n2"`:         func(c *Config) { c.Members = []string{"n0", "n1", "x"} },
		"has algorithm chain, we have":     func(c *Config) { c.Algorithm = schedule.Chain },
		"in rack 1, we have it in none":    func(c *Config) { c.Racks = []int{1, 1, 1} },
		"unfinished messages": func(c *Config) {
			c.Unfinished = []Unfinished{{Message: Message{Size: 1, BlockSize: 64}, Have: make([]schedule.Set, 3)}}
		},
	} {
		c := Config{Name: "g", Members: names(3), BlockSize: 64}
		change(&c)
		c.setDefaults()
		d := c.describe()
		err := g.Agrees(1, d.encode())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "member 1 (n1) ")) {
			t.Errorf("%q: %v", want, err)
		}
	}
	d := g.config.describe()
	d.version++
	for _, bad := range [][]byte{nil, {1, 2, 3}, g.Description()[:40], append(g.Description(), 0), d.encode()} {
		if err := g.Agrees(1, bad); !errors.Is(err, ErrArgument) {
			t.Errorf("%x: %v", bad, err)
		}
	}
	if err := g.Agrees(7, nil); !errors.Is(err, ErrArgument) {
		t.Errorf("nobody: %v", err)
	}
}
