package verbstest

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"
)

// This file keeps what a memory holds at one moment, and finds out whether a peer has written to it since.

// Snapshot asks to keep, at a moment that its command names, the last word of each Stride bytes of a memory. What
// covers such a piece stores its last word last, so that word tells whether it was still under way; and looking at nothing else is
// over long before a large Write is. The zero Snapshot keeps nothing.
type Snapshot struct {
	Memory int
	Stride int
}

// snapshot is what was kept.
type snapshot struct {
	Snapshot
	words []uint64
}

// snapshot keeps words of a memory as they are now, and then lingers.
func (a *agent) snapshot(s Snapshot) {
	b, err := a.bytes.get(s.Memory)
	if err != nil {
		return // Changed will say that there is no snapshot
	}
	kept := snapshot{s, lastWords(b, s.Stride)}
	a.snapshots[s.Memory] = kept
	kept.linger(b)
}

// linger gives the processor to peers for a while, or until one of them has changed what was kept. The end's own loop
// stands still meanwhile: a provider that reported a change of access too early cannot make up for it in these moments.
func (s snapshot) linger(b []byte) {
	for range 50 {
		runtime.Gosched()
		if !slices.Equal(lastWords(b, s.Stride), s.words) {
			return
		}
	}
}

// lastWords reads the last word of each stride bytes, the way that words written by peers are read.
func lastWords(b []byte, stride int) []uint64 {
	list := make([]uint64, 0, len(b)/stride)
	for end := stride; end <= len(b); end += stride {
		list = append(list, atomic.LoadUint64((*uint64)(unsafe.Pointer(&b[end-8]))))
	}
	return list
}

// Changed compares a memory with its snapshot. Result: Count, how many words differ; Text names the first.
type Changed struct{ Memory int }

func (c Changed) carryOut(a *agent) (Result, error) {
	b, err := a.bytes.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	before, ok := a.snapshots[c.Memory]
	if !ok {
		return Result{}, fmt.Errorf("verbstest: memory %d has no snapshot", c.Memory)
	}
	var r Result
	for i, now := range lastWords(b, before.Stride) {
		if now != before.words[i] {
			if r.Count++; r.Count == 1 {
				r.Text = []string{fmt.Sprintf("the word at the end of piece %d was %d, is %d", i, before.words[i], now)}
			}
		}
	}
	return r, nil
}
