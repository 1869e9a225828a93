package loop

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// MaxMachines is how many machines a loop can have at a time.
const MaxMachines = 1<<16 - 1

// A tag on a loop is owner (16 bits) · value (48 bits). Owner 0 is nobody, so that a tag made without a Port is noticed.
const (
	valueBits = 48
	valueMask = 1<<valueBits - 1
)

func ownerOf(t verbs.Tag) uint16 { return uint16(t >> valueBits) }

// Port is a machine's place on its loop: it makes the tags and timers that come back to the machine's Step. The zero Port
// is no place, nor is one after Remove: its timers never come, and its tags belong to nobody.
type Port struct {
	loop   *Loop
	owner  uint16
	serial uint64 // of the machine: owner numbers are used again
}

// holds reports whether the machine is still there.
func (p Port) holds() bool {
	return p.loop != nil && p.loop.machines.find(p.owner) != nil && p.loop.machines.byOwner[p.owner].serial == p.serial
}

// Tag makes a tag of the low 48 bits of value. Step sees the completion with Tag equal to those bits.
func (p Port) Tag(value uint64) verbs.Tag {
	return verbs.Tag(uint64(p.owner)<<valueBits | value&valueMask)
}

// After has the machine stepped with an OpTimer completion whose Tag is the low 48 bits of value, when d has passed: in
// the next turn if d is not positive. A timer cannot be taken back: a machine that no longer cares ignores it. One that was
// removed gets none.
func (p Port) After(d time.Duration, value uint64) {
	if !p.holds() {
		return
	}
	l := p.loop
	if !l.isStamped {
		l.stamp() // first: on a clock that moves, no timer is due in the turn in which it is set
	}
	l.set = l.clock.Now()
	at := l.set.Add(d)
	earlier := at < l.timers.next()
	l.timers.push(at, p.Tag(value))
	if earlier && !l.busy.Load() {
		l.queue.Wake() // whoever waits, waits too long
	}
}

// Loop is the loop that the port belongs to, or nil.
func (p Port) Loop() *Loop { return p.loop }

// Remove takes the machine and its timers off the loop. Everything that it posted must have completed: a completion that
// comes later fails the loop with ErrNoMachine. A second Remove does nothing.
func (p Port) Remove() {
	if p.holds() {
		p.loop.machines.remove(p.owner)
		p.loop.timers.drop(p.owner)
	}
}

// machines finds machines by owner number, in constant time.
type machines struct {
	byOwner  []place  // index 0 is nobody
	vacant   []uint16 // used again in the order they were freed, so that a late completion meets nobody for long
	scanners []Scanner
	owners   []uint16 // of the scanners
	scanning int      // scanners that are not nil
	added    uint64   // machines ever added
}

// place is a machine.
type place struct {
	machine Machine
	serial  uint64 // how many had been added, with it
	scanner int    // where it stands among the scanners, plus one; 0: it is none
}

func (ms *machines) find(owner uint16) Machine {
	if int(owner) >= len(ms.byOwner) {
		return nil
	}
	return ms.byOwner[owner].machine
}

func (ms *machines) add(m Machine) (owner uint16, serial uint64, err error) {
	owner, err = ms.number()
	if err != nil {
		return 0, 0, err
	}
	ms.added++
	ms.byOwner[owner] = place{machine: m, serial: ms.added}
	if s, ok := m.(Scanner); ok {
		ms.scanners, ms.owners = append(ms.scanners, s), append(ms.owners, owner)
		ms.byOwner[owner].scanner = len(ms.scanners)
		ms.scanning++
	}
	return owner, ms.added, nil
}

func (ms *machines) number() (uint16, error) {
	if len(ms.byOwner) <= MaxMachines {
		old := ms.byOwner
		if ms.byOwner = append(old, place{}); cap(ms.byOwner) != cap(old) {
			clear(old) // the loop's own room stays, and must not keep a machine that leaves
		}
		return uint16(len(ms.byOwner) - 1), nil
	}
	if len(ms.vacant) == 0 {
		return 0, fmt.Errorf("add machine: the loop has %d: %w", MaxMachines, ErrFull)
	}
	owner := ms.vacant[0]
	ms.vacant = ms.vacant[1:]
	return owner, nil
}

func (ms *machines) remove(owner uint16) {
	if at := ms.byOwner[owner].scanner; at > 0 {
		ms.scanners[at-1] = nil // a hole, because a scan may be under way; the next one closes it
		ms.scanning--
	}
	ms.byOwner[owner] = place{}
	ms.vacant = append(ms.vacant, owner)
}

// scan lets every scanner look, and closes the holes that removed ones have left. A scanner that is added meanwhile has
// its first look in the next turn. It returns how many have found something.
func (ms *machines) scan() (found int) {
	if ms.scanning < len(ms.scanners) {
		ms.closeHoles()
	}
	for i := range len(ms.scanners) {
		if s := ms.scanners[i]; s != nil && s.Scan() {
			found++
		}
	}
	return found
}

func (ms *machines) closeHoles() {
	kept := 0
	for i, s := range ms.scanners {
		if s == nil {
			continue
		}
		ms.scanners[kept], ms.owners[kept] = s, ms.owners[i]
		kept++
		ms.byOwner[ms.owners[i]].scanner = kept
	}
	clear(ms.scanners[kept:])
	ms.scanners, ms.owners = ms.scanners[:kept], ms.owners[:kept]
}
