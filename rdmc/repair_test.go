package rdmc

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Whoever crashes, at whatever step of a transfer: the survivors finish it in a new group, from what they hold, and nobody
// receives a block that it has.
func TestRepair(t *testing.T) {
	const size, blockSize = 1<<18 + 100, 1 << 14
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
		for rank := range 5 {
			for after := range 12 {
				t.Run(fmt.Sprintf("%v/%d/%d", algorithm, rank, after), func(t *testing.T) {
					r := &rig{t: t, memory: 1 << 20}
					r.form(Config{Name: "g", Members: names(5), Algorithm: algorithm, BlockSize: blockSize})
					root := r.members[0]
					place := root.fill(size)
					want := bytes.Clone(place.Memory.Bytes()[:size])
					_, err := root.group.Send(place, size)
					check(t, err)
					r.pass(time.Duration(1+3*after) * time.Microsecond)
					r.crash(rank)
					r.run("failed", func(m *member) bool { return len(m.failures) == 1 })
					r.regroup(Message{Size: size, BlockSize: blockSize}, want)
				})
			}
		}
	}
}

// regroup finishes a message among the survivors.
func (r *rig) regroup(m Message, want []byte) {
	var survivors []*member
	config := Config{Name: "again", BlockSize: m.BlockSize}
	unfinished := Unfinished{Message: m}
	lacking := uint64(0)
	for _, old := range r.members {
		if old.crashed {
			continue
		}
		survivors = append(survivors, old)
		config.Members = append(config.Members, fmt.Sprint("n", old.rank))
		have, _ := old.holds(m)
		unfinished.Have = append(unfinished.Have, have)
		lacking += uint64(have.Len() - have.Count())
	}
	again := &rig{t: r.t, fabric: r.fabric}
	for rank, old := range survivors {
		config.Self = rank
		own := unfinished
		_, own.Place = old.holds(m)
		config.Unfinished = []Unfinished{own}
		next := &member{rank: rank, device: old.device, domain: old.domain, queue: old.queue, loop: old.loop, memory: old.memory, used: old.used}
		next.listen(&config)
		var err error
		next.group, err = New(next.loop, next.domain, config)
		if lost := new(schedule.LostError); errors.As(err, &lost) && r.members[0].crashed {
			return // with the root blocks were lost
		}
		check(r.t, err)
		r.t.Cleanup(next.group.Discard)
		config.Ready, config.Incoming, config.Completed, config.Failed, config.Closed = nil, nil, nil, nil, nil
		again.members = append(again.members, next)
	}
	again.connect()
	again.run("repaired", func(m *member) bool { return len(m.completed) == 1 })
	came := uint64(0)
	for _, m := range again.members {
		if !bytes.Equal(m.contents[0], want) {
			r.t.Errorf("member %d has something else", m.rank)
		}
		for _, l := range m.group.links {
			came += l.posted
		}
		if m.group.firstPosted {
			came--
		}
	}
	if came != lacking {
		r.t.Errorf("%d blocks came, %d were missing", came, lacking)
	}
	again.goesOn()
}

// goesOn sends another message in the group: numbers count on.
func (r *rig) goesOn() {
	root := r.members[0]
	m, err := root.group.Send(root.place(1000), 1000)
	check(r.t, err)
	if m.Number != 1 {
		r.t.Errorf("the next message has number %d", m.Number)
	}
	r.run("completed", func(m *member) bool { return len(m.completed) == 2 })
	r.closeAll()
}

// holds is what a member has of the first message, and where.
func (m *member) holds(msg Message) (schedule.Set, Place) {
	if len(m.completed) > 0 {
		return schedule.FullSet(msg.Blocks()), m.completed[0].Place
	}
	for _, h := range m.group.Holdings() {
		return h.Have, h.Place
	}
	return schedule.NewSet(msg.Blocks()), Place{}
}

// What makes no sense is refused with words.
func TestUnfinishedMakesNoSense(t *testing.T) {
	good := func() Unfinished {
		have := []schedule.Set{schedule.FullSet(4), schedule.NewSet(4)}
		return Unfinished{Message: Message{Number: 3, Size: 256, BlockSize: 64}, Have: have}
	}
	for name, change := range map[string]func(*Config){
		"another block size": func(c *Config) { c.Unfinished[0].BlockSize = 32 },
		"a set missing":      func(c *Config) { c.Unfinished[0].Have = c.Unfinished[0].Have[:1] },
		"a set too small":    func(c *Config) { c.Unfinished[0].Have[0] = schedule.FullSet(3) },
		"twice":              func(c *Config) { c.Unfinished = append(c.Unfinished, good()) },
		"blocks nowhere":     func(c *Config) { c.Self = 0 },
		"too large":          func(c *Config) { c.MaxMessage = 100 },
	} {
		c := Config{Name: "g", Members: names(2), Self: 1, BlockSize: 64, Unfinished: []Unfinished{good()}}
		if _, err := CompletionRoom(c); err != nil {
			t.Fatal(err)
		}
		c.setDefaults()
		change(&c)
		if _, err := CompletionRoom(c); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
