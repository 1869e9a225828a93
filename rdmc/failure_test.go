package rdmc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// Whoever crashes, and whenever: each survivor hears of it once, in time, by name; and nothing comes after that.
func TestCrash(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
		for rank := range 5 {
			for _, after := range []time.Duration{0, 3, 8, 15, 30} {
				t.Run(fmt.Sprintf("%v/%d/%d", algorithm, rank, after), func(t *testing.T) {
					r := &rig{t: t, memory: 1 << 18}
					r.form(Config{Name: "g", Members: names(5), Algorithm: algorithm, BlockSize: 1 << 12})
					_, err := r.members[0].group.Send(r.members[0].fill(1<<18), 1<<18)
					check(t, err)
					r.pass(after * time.Microsecond)
					r.crash(rank)
					r.expectFailure(rank, ErrDied, time.Second)
				})
			}
		}
	}
}

// expectFailure waits for the failure at all survivors.
func (r *rig) expectFailure(rank int, cause error, within time.Duration) {
	r.t.Helper()
	limit := r.fabric.Now().Add(within)
	r.run("failed", func(m *member) bool { return len(m.failures) > 0 })
	if r.fabric.Now() > limit {
		r.t.Errorf("it took until %v, and not %v", r.fabric.Now(), limit)
	}
	r.pass(10 * time.Second)
	for _, m := range r.members {
		if m.crashed {
			continue
		}
		if len(m.failures) != 1 || m.failures[0].Rank != rank || !errors.Is(m.failures[0], cause) || len(m.late) > 0 {
			r.t.Errorf("member %d: %v, want one that names %d and is %v; late calls %v", m.rank, m.failures, rank, cause, m.late)
		}
		if m.memory != nil && !bytes.Equal(m.quiet, m.memory.Bytes()) {
			r.t.Errorf("member %d: memory has changed after the failure", m.rank)
		}
		check(r.t, m.group.Close())
	}
	r.run("closed", func(m *member) bool { return m.closed == 1 })
}

// A member that stands still is found out, although its NIC answers.
func TestStall(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
		r := &rig{t: t, memory: 1 << 20}
		r.form(Config{Name: "g", Members: names(4), Algorithm: algorithm, BlockSize: 1 << 14, Stall: time.Second})
		_, err := r.members[0].group.Send(r.members[0].fill(1<<20), 1<<20)
		check(t, err)
		r.pass(30 * time.Microsecond)
		r.members[2].queue.Drive(nil) // its loop gets no more turns
		r.members[2].crashed = true
		r.expectFailure(2, ErrSilent, 2*time.Second)
		if f := r.members[1].failures[0]; !strings.Contains(f.Error(), "member 2 (n2) gave no sign of life") {
			t.Errorf("the failure reads %q", f)
		}
	}
}

// Those behind a member that stands still have no other way to hear of the failure: they find it out themselves, although
// they know of no message.
func TestStallBetweenMessages(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Chain, schedule.Tree} {
		r := &rig{t: t, memory: 1 << 12}
		r.form(Config{Name: "g", Members: names(8), Algorithm: algorithm, BlockSize: 64, Stall: time.Second})
		r.members[2].queue.Drive(nil) // its loop gets no more turns
		r.members[2].crashed = true
		_, err := r.members[0].group.Send(r.members[0].fill(1000), 1000)
		check(t, err)
		r.expectFailure(2, ErrSilent, 3*time.Second)
	}
}

// Who knows of no message and is not cut off may wait as long as it likes.
func TestIdleIsNotDead(t *testing.T) {
	r := &rig{t: t, memory: 1 << 12}
	r.form(Config{Name: "g", Members: names(5), BlockSize: 64, Stall: time.Second})
	r.pass(10 * time.Minute)
	r.sendAll([]uint64{1000, 10})
}

// Applications may hold back as long as they like: who answers has not failed.
func TestSlowIsNotDead(t *testing.T) {
	r := &rig{t: t, memory: 1 << 20}
	r.change = func(rank int, c *Config) {
		if rank == 2 {
			c.Incoming = func(Message) Place { return Place{} }
		}
	}
	r.form(Config{Name: "g", Members: names(4), BlockSize: 1 << 14, Stall: time.Second})
	_, err := r.members[0].group.Send(r.members[0].fill(1<<20), 1<<20)
	check(t, err)
	r.pass(time.Minute)
	check(t, r.members[2].group.Provide(0, Place{r.members[2].memory, 0}))
	r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
	r.closeAll()
}

// A member that leaves is missed when it is needed; and by those that would hear of messages through it.
func TestLeave(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Chain} {
		r := &rig{t: t, memory: 1 << 20}
		r.form(Config{Name: "g", Members: names(4), BlockSize: 1 << 14, Algorithm: algorithm})
		_, err := r.members[0].group.Send(r.members[0].fill(1<<18), 1<<18)
		check(t, err)
		r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
		check(t, r.members[2].group.Close())
		r.pass(time.Minute)
		for _, m := range r.members {
			if cutOff := algorithm == schedule.Chain && m.rank == 3; len(m.failures) > 0 != cutOff {
				t.Fatalf("%v, member %d: %v", algorithm, m.rank, m.failures)
			}
		}
		r.members[2].crashed = true
		_, err = r.members[0].group.Send(r.members[0].fill(1<<18), 1<<18)
		check(t, err)
		r.expectFailure(2, ErrLeft, time.Second)
	}
}

// Members that are done, and hear that the root has left, end one after the other. Who is still at work, and needs none of
// them, is not disturbed.
func TestLeaveDisturbsNobody(t *testing.T) {
	r := &rig{t: t, memory: 1 << 18}
	r.change = func(rank int, c *Config) {
		if rank == 3 {
			c.Incoming = func(Message) Place { return Place{} }
		}
	}
	r.form(Config{Name: "g", Members: names(4), BlockSize: 1 << 14, Algorithm: schedule.Chain})
	_, err := r.members[0].group.Send(r.members[0].fill(1<<18), 1<<18)
	check(t, err)
	r.pass(time.Second) // members 0 and 1 are done, 2 waits for 3
	check(t, r.members[0].group.Close())
	r.members[0].crashed = true
	r.pass(time.Minute)
	if done, failed := len(r.members[1].completed), r.members[1].failures; done != 1 || len(failed) != 1 {
		t.Errorf("member 1 completed %d messages, and heard %v", done, failed)
	}
	check(t, r.members[3].group.Provide(0, Place{r.members[3].memory, 0}))
	r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
	r.expectFailure(0, ErrLeft, time.Minute)
}

// A member that leaves in the middle of a message ends the group for those that need it; nobody waits for ever.
func TestLeaveInTheMiddle(t *testing.T) {
	for _, members := range []int{2, 4} {
		for rank := range members {
			for after := 6 * time.Microsecond; after < 16*time.Microsecond; after += 200 * time.Nanosecond {
				leaveAfter(t, members, rank, after)
			}
		}
	}
}

func leaveAfter(t *testing.T, members, rank int, after time.Duration) {
	const size = 1 << 16
	r := &rig{t: t, memory: size}
	r.form(Config{Name: "g", Members: names(members), BlockSize: 1 << 12})
	_, err := r.members[0].group.Send(r.members[0].fill(size), size)
	check(t, err)
	r.pass(after)
	check(t, r.members[rank].group.Close())
	r.members[rank].crashed = true
	r.run(fmt.Sprintf("member %d of %d left after %v", rank, members, after),
		func(m *member) bool { return len(m.completed)+len(m.failures) > 0 })
	r.pass(10 * time.Second)
	for _, m := range r.members {
		if len(m.failures) > 0 && (m.failures[0].Rank != rank || !errors.Is(m.failures[0], ErrLeft)) || len(m.late) > 0 {
			t.Errorf("member %d of %d left after %v: member %d heard %v, late calls %v", rank, members, after, m.rank, m.failures, m.late)
		}
	}
}

// It may be that a data pair is seen to break before the word comes that says why: the word counts.
func TestAWordExplainsABreak(t *testing.T) {
	for _, c := range []struct {
		said word
		want error
	}{{makeWord(wordLeft, 0), ErrLeft}, {failedWord(&Failure{Rank: 0, Cause: ErrRejected}), ErrRejected}, {0, ErrDied}} {
		r, hostile := newHostile(t)
		r.pass(time.Millisecond)
		h := header{blockSize: 64, size: 1000}
		hostile.inject(t, h.bytes(), 0, false)
		r.pass(time.Millisecond)
		check(t, hostile.links[0].data.Close())
		r.pass(time.Millisecond)
		if victim := r.members[1]; len(victim.failures) > 0 || !victim.group.links[0].broken {
			t.Fatalf("it did not wait for a word: %v", victim.failures)
		}
		if c.said != 0 {
			check(t, hostile.links[0].control.SendImm(hostile.port.Tag(makeTag(timerPump, 0, 0)), verbs.Span{}, uint32(c.said), 0))
			check(t, hostile.links[0].control.Flush())
		}
		r.members[0].crashed = true
		r.expectFailure(0, c.want, 2*time.Second)
	}
}

// Memory that cannot hold the message ends the group, and everybody hears whose it was.
func TestTooLittleMemory(t *testing.T) {
	r := &rig{t: t, memory: 1 << 20}
	r.change = func(rank int, c *Config) {
		if rank == 3 {
			c.Incoming = func(Message) Place { return Place{r.members[3].memory, 1<<20 - 10} }
		}
	}
	r.form(Config{Name: "g", Members: names(4), BlockSize: 1 << 14})
	r.members[0].group.Send(r.members[0].fill(1<<20), 1<<20)
	r.expectFailure(3, ErrMemory, time.Second)
}

// A packet that was lost, and is sent again, must not look like a member that has posted no receive: a device sends again for
// as long as it waits for a peer, which may be longer than Stall.
func TestReceiversAreGivenTime(t *testing.T) {
	r := &rig{t: t}
	r.form(Config{Name: "g", Members: names(2), Stall: time.Millisecond})
	m := r.members[0]
	limit := m.device.Limits().PeerTimeout
	for _, config := range []verbs.QueueConfig{m.group.config.dataConfig(m.queue), m.group.config.controlConfig(m.queue)} {
		if config.ReceiverWait < limit {
			t.Errorf("a receiver is given %v, the device a peer %v", config.ReceiverWait, limit)
		}
	}
}

// A last word that is lost, and sent again, is heard as long as the device sends it: the group does not end for those who
// wait for it because the one who tells them has closed its end.
func TestLastWordsAreGivenTime(t *testing.T) {
	fabric, err := sim.New(sim.Config{Seed: 1, PeerTimeout: 10 * time.Second})
	check(t, err)
	r := &rig{t: t, fabric: fabric, memory: 1 << 20}
	r.change = func(rank int, c *Config) {
		if rank == 1 {
			c.Incoming = func(Message) Place {
				check(t, fabric.Partition([]string{"n2"}))
				return Place{r.members[1].memory, 1<<20 - 10}
			}
		}
	}
	r.form(Config{Name: "g", Members: names(3), Algorithm: schedule.Chain, BlockSize: 1 << 14})
	_, err = r.members[0].group.Send(r.members[0].fill(1<<20), 1<<20)
	check(t, err)
	r.pass(3 * time.Second)
	fabric.Heal()
	r.expectFailure(1, ErrMemory, time.Second)
}
