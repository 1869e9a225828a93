package loop

import (
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

// timers is a binary heap. Timers for one moment fire in the order they were set.
type timers struct {
	heap []timer
	set  uint64 // how many were ever set
}

type timer struct {
	at    clock.Time
	order uint64
	tag   verbs.Tag
}

func (a timer) before(b timer) bool { return a.at < b.at || a.at == b.at && a.order < b.order }

func (ts *timers) len() int { return len(ts.heap) }

func (ts *timers) next() clock.Time {
	if len(ts.heap) == 0 {
		return clock.Never
	}
	return ts.heap[0].at
}

func (ts *timers) push(at clock.Time, tag verbs.Tag) {
	ts.set++
	ts.add(timer{at, ts.set, tag})
}

// drop forgets the timers of one machine. It is as slow as there are timers, and seldom.
func (ts *timers) drop(owner uint16) {
	old := ts.heap
	ts.heap = old[:0]
	for _, t := range old {
		if ownerOf(t.tag) != owner {
			ts.add(t)
		}
	}
}

func (ts *timers) add(t timer) {
	ts.heap = append(ts.heap, t)
	for i := len(ts.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !ts.heap[i].before(ts.heap[parent]) {
			return
		}
		ts.heap[i], ts.heap[parent] = ts.heap[parent], ts.heap[i]
		i = parent
	}
}

func (ts *timers) pop() verbs.Tag {
	first := ts.heap[0]
	last := len(ts.heap) - 1
	ts.heap[0] = ts.heap[last]
	ts.heap = ts.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && ts.heap[child+1].before(ts.heap[child]) {
			child++
		}
		if child >= last || !ts.heap[child].before(ts.heap[i]) {
			return first.tag
		}
		ts.heap[i], ts.heap[child] = ts.heap[child], ts.heap[i]
		i = child
	}
}
