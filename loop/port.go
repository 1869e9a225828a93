package loop

import (
	"fmt"
	"slices"
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
// is no place: its timers never come, and its tags belong to nobody.
type Port struct {
	loop  *Loop
	owner uint16
}

// Tag makes a tag of the low 48 bits of value. Step sees the completion with Tag equal to those bits.
func (p Port) Tag(value uint64) verbs.Tag {
	return verbs.Tag(uint64(p.owner)<<valueBits | value&valueMask)
}

// After has the machine stepped with an OpTimer completion whose Tag is the low 48 bits of value, when d has passed: in
// the next turn if d is not positive. A timer cannot be taken back: a machine that no longer cares ignores it.
func (p Port) After(d time.Duration, value uint64) {
	l := p.loop
	if l == nil {
		return
	}
	at := l.clock.Now().Add(d)
	earlier := at < l.timers.next()
	l.timers.push(at, p.Tag(value))
	if earlier && !l.busy.Load() {
		l.queue.Wake() // whoever waits, waits too long
	}
}

// Loop is the loop that the port belongs to, or nil.
func (p Port) Loop() *Loop { return p.loop }

// Remove takes the machine and its timers off the loop. Everything that it posted must have completed: a completion that
// comes later fails the loop with ErrNoMachine.
func (p Port) Remove() {
	if p.loop != nil {
		p.loop.machines.remove(p.owner)
		p.loop.timers.drop(p.owner)
	}
}

// machines finds machines by owner number, in constant time.
type machines struct {
	byOwner  []Machine // index 0 is nobody
	vacant   []uint16  // used again in the order they were freed, so that a late completion meets nobody for long
	scanners []scanner
}

type scanner struct {
	owner   uint16
	scanner Scanner
}

func (ms *machines) find(owner uint16) Machine {
	if int(owner) >= len(ms.byOwner) {
		return nil
	}
	return ms.byOwner[owner]
}

func (ms *machines) add(m Machine) (uint16, error) {
	owner, err := ms.number()
	if err != nil {
		return 0, err
	}
	ms.byOwner[owner] = m
	if s, ok := m.(Scanner); ok {
		ms.scanners = append(ms.scanners, scanner{owner, s})
	}
	return owner, nil
}

func (ms *machines) number() (uint16, error) {
	if len(ms.byOwner) == 0 {
		ms.byOwner = make([]Machine, 1, 4)
	}
	if len(ms.byOwner) <= MaxMachines {
		ms.byOwner = append(ms.byOwner, nil)
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
	if ms.find(owner) == nil {
		return
	}
	ms.byOwner[owner] = nil
	ms.vacant = append(ms.vacant, owner)
	// A new slice: the loop may be in the middle of the old one.
	ms.scanners = slices.DeleteFunc(slices.Clone(ms.scanners), func(s scanner) bool { return s.owner == owner })
}
