package rdmc

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// Messages of all kinds of sizes arrive everywhere, in order, with their exact size and bytes.
func TestMessagesArrive(t *testing.T) {
	sizes := []uint64{1000, 0, 1, 999, 64, 65, 63, 128, 4096, 7}
	for _, algorithm := range schedule.Algorithms() {
		for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 13} {
			t.Run(fmt.Sprintf("%v/%d", algorithm, n), func(t *testing.T) {
				r := &rig{t: t, memory: 1 << 14}
				config := Config{Name: "g", Members: names(n), Algorithm: algorithm, BlockSize: 64}
				if algorithm.Racks() {
					for i := range n {
						config.Racks = append(config.Racks, i/3)
					}
				}
				r.form(config)
				r.sendAll(sizes)
			})
		}
	}
}

// sendAll sends messages all at once, and checks what arrives.
func (r *rig) sendAll(sizes []uint64) {
	r.t.Helper()
	root := r.members[0]
	var want [][]byte
	for _, size := range sizes {
		place := root.fill(size)
		want = append(want, place.Memory.Bytes()[place.Offset:place.Offset+size])
		_, err := root.group.Send(place, size)
		check(r.t, err)
	}
	r.run("completed", func(m *member) bool { return len(m.completed) == len(sizes) })
	for _, m := range r.members {
		for i, d := range m.completed {
			if d.Number != uint64(i) || d.Size != sizes[i] || !bytes.Equal(m.contents[i], want[i]) {
				r.t.Errorf("member %d: message %d is %+v, want %d bytes; equal: %t", m.rank, i, d.Message, sizes[i],
					bytes.Equal(m.contents[i], want[i]))
			}
		}
	}
	r.closeAll()
}

// closeAll closes all groups, and checks that nothing was called that must not be.
func (r *rig) closeAll() {
	r.t.Helper()
	for _, m := range r.members {
		check(r.t, m.group.Close())
	}
	r.run("closed", func(m *member) bool { return m.closed == 1 })
	for _, m := range r.members {
		if len(m.late) > 0 || len(m.failures) > 0 {
			r.t.Errorf("member %d: failures %v, late calls %v", m.rank, m.failures, m.late)
		}
	}
}

// A message beyond the 64 GiB at which the original ends arrives exactly: its origin is checked, byte by byte.
func TestBeyond64GiB(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const size = 65<<30 + 12345
	r := &rig{t: t, memory: size}
	r.form(Config{Name: "g", Members: names(3), Algorithm: schedule.Chain, Phantom: true})
	root := r.members[0]
	check(t, root.memory.Mark(0, size, verbs.Origin{Object: 5}))
	_, err := root.group.Send(Place{Memory: root.memory}, size)
	check(t, err)
	r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
	for _, m := range r.members {
		if from, whole := m.memory.Origin(0, size); !whole || from != (verbs.Origin{Object: 5}) {
			t.Errorf("member %d has %+v (whole: %t)", m.rank, from, whole)
		}
	}
	r.closeAll()
}

// Names that stand twice are found, whether or not the others come in an order.
func TestNamesStandOnce(t *testing.T) {
	for _, c := range []struct {
		members []string
		ok      bool
	}{
		{[]string{"n9", "n10", "n11"}, true},
		{[]string{"z", "a", "m"}, true},
		{[]string{"a", "a"}, false},
		{[]string{"a", "b", "a"}, false},
		{[]string{"a", "b", "b", "c"}, false},
		{[]string{"a", ""}, false},
	} {
		config := Config{Name: "g", Members: c.members}
		config.setDefaults()
		if err := config.validate(); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.members, err)
		}
	}
}
