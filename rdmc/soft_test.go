package rdmc

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// crew is a group on software NICs in this process, which the test itself turns.
type crew struct {
	t       testing.TB
	members []*member
}

func newCrew(t testing.TB, config Config, memory uint64) *crew {
	t.Helper()
	c := &crew{t: t}
	for rank := range config.Members {
		nic, err := soft.New(soft.Config{Lanes: soft.InProcess})
		check(t, err)
		m := &member{rank: rank}
		config.Self = rank
		m.open(t, nic, config, memory)
		t.Cleanup(func() { check(t, m.close()) })
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		for _, peer := range m.group.Peers() {
			check(t, m.group.Connect(peer, c.members[peer].group.Addresses(m.rank)))
		}
	}
	c.turnUntil(func(m *member) bool { return m.ready == 1 })
	return c
}

// turnUntil turns all loops until something is true of all members.
func (c *crew) turnUntil(done func(*member) bool) {
	c.t.Helper()
	for start, rounds := time.Now(), 1; ; rounds++ {
		all := true
		for _, m := range c.members {
			if _, err := m.loop.Turn(); err != nil {
				c.t.Fatal(err)
			}
			all = all && done(m)
		}
		if all {
			return
		}
		if rounds%1000 == 0 && time.Since(start) > time.Minute {
			c.t.Fatal("it takes for ever")
		}
	}
}

// The same group on the software NIC.
func TestSoft(t *testing.T) {
	for _, offload := range []bool{false, true} {
		for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
			t.Run(fmt.Sprintf("%v/%t", algorithm, offload), func(t *testing.T) {
				c := newCrew(t, Config{Name: "g", Members: names(5), Algorithm: algorithm, BlockSize: 4096, Offload: offload,
					Stripes: 2}, 1<<22)
				for _, size := range []uint64{1 << 20, 0, 5000, 123456, 4096} {
					root := c.members[0]
					n := len(root.completed) + 1
					_, err := root.group.Send(root.fill(size), size)
					check(t, err)
					c.turnUntil(func(m *member) bool { return len(m.completed) == n })
					for _, m := range c.members {
						if !bytes.Equal(m.contents[n-1], root.contents[n-1]) {
							t.Errorf("member %d: %d bytes differ", m.rank, size)
						}
					}
				}
			})
		}
	}
}

// A block costs no allocation, from the first receive to the last send: messages of 64 and of 1024 blocks cost the same.
func TestAllocations(t *testing.T) {
	for _, offload := range []bool{false, true} {
		few, many := allocations(t, 64, offload), allocations(t, 1024, offload)
		if perBlock := (many - few) / (1024 - 64); perBlock > 0.01 {
			t.Errorf("offload %t: %g allocations a block: a message of 64 blocks costs %g, of 1024 blocks %g", offload, perBlock, few, many)
		}
	}
}

// allocations counts those of one message, at four members together.
func allocations(t *testing.T, blocks uint64, offload bool) float64 {
	const blockSize = 512
	size := blocks * blockSize
	config := Config{Name: "g", Members: names(4), BlockSize: blockSize, Offload: offload}
	c := newCrew(t, config, size)
	for _, m := range c.members {
		m.group.config.Incoming = func(Message) Place { return Place{Memory: m.memory} }
		m.group.config.Completed = func(Delivery) { m.ready++ }
	}
	return testing.AllocsPerRun(5, func() {
		want := c.members[0].ready + 1
		_, err := c.members[0].group.Send(Place{Memory: c.members[0].memory}, size)
		check(t, err)
		c.turnUntil(func(m *member) bool { return m.ready == want })
	})
}

func BenchmarkBlocks(b *testing.B) {
	const blockSize, blocks = 4096, 256
	c := newCrew(b, Config{Name: "g", Members: names(4), BlockSize: blockSize}, blockSize*blocks)
	for _, m := range c.members {
		m.group.config.Incoming = func(Message) Place { return Place{Memory: m.memory} }
		m.group.config.Completed = func(Delivery) { m.ready++ }
	}
	b.ReportAllocs()
	b.SetBytes(blockSize)
	for n := 0; n < b.N; n += blocks {
		want := c.members[0].ready + 1
		_, err := c.members[0].group.Send(Place{Memory: c.members[0].memory}, uint64(blockSize*min(blocks, b.N-n)))
		check(b, err)
		c.turnUntil(func(m *member) bool { return m.ready == want })
	}
}
