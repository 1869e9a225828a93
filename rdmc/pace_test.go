package rdmc

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// With a Pace, a member begins with a block when the one before has had its time, or has arrived.
func TestPace(t *testing.T) {
	const block, size = 64 << 10, 16 * 64 << 10
	for _, pace := range []time.Duration{0, 5243, time.Second} { // ns that a block takes at 100 Gbit/s; and much more
		r := &rig{t: t, memory: 1 << 21}
		r.form(Config{Name: "g", Members: names(8), Algorithm: schedule.Circulant, BlockSize: block, Stripes: 2, Credits: 2, Pace: pace})
		_, err := r.members[0].group.Send(r.members[0].fill(size), size)
		check(t, err)
		early := watchPace(r, pace)
		if pace > 0 && early > 0 || pace == 0 && early == 0 {
			t.Errorf("pace %v: %d blocks began while another had not had its time", pace, early)
		}
		r.closeAll()
	}
}

// watchPace runs until all have the message, and counts the blocks that began too early, by a pace or 5 µs.
func watchPace(r *rig, pace time.Duration) (early int) {
	if pace == 0 {
		pace = 5 * time.Microsecond
	}
	began := make([]clock.Time, len(r.members))
	carried := make([]int, len(r.members))
	r.run("completed", func(m *member) bool {
		if len(m.group.active) > 0 {
			now := m.group.active[0].carried
			if now > carried[m.rank] {
				if carried[m.rank] > 0 && r.fabric.Now().Sub(began[m.rank]) < pace-2*time.Nanosecond {
					early++
				}
				began[m.rank] = r.fabric.Now()
			}
			carried[m.rank] = now
		}
		return len(m.completed) == 1
	})
	return early
}

// With Offload the NIC begins with a block when it comes, so that a pace changes nothing.
func TestPaceLeavesOffloadAlone(t *testing.T) {
	const block, size = 64 << 10, 16 * 64 << 10
	var took [2]clock.Time
	for i, pace := range []time.Duration{0, time.Millisecond} {
		r := &rig{t: t, memory: 1 << 21}
		r.form(Config{Name: "g", Members: names(4), Algorithm: schedule.Chain, BlockSize: block, Offload: true, Pace: pace})
		_, err := r.members[0].group.Send(r.members[0].fill(size), size)
		check(t, err)
		r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
		took[i] = r.fabric.Now()
		r.closeAll()
	}
	if took[0] != took[1] {
		t.Errorf("it ends at %v without a pace and at %v with one", took[0], took[1])
	}
}

func TestPaceIsChecked(t *testing.T) {
	for _, pace := range []time.Duration{-1, 2 * time.Hour} {
		c := Config{Name: "g", Members: names(2), Pace: pace}
		c.setDefaults()
		if err := c.validate(); !errors.Is(err, ErrArgument) {
			t.Errorf("a pace of %v: %v", pace, err)
		}
	}
}
