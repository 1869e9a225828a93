package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// This file looks at memory that a peer fills slot by slot, each Write under a flag of its own.

// slotStamp makes words whose halves are equal, so that half a word is noticed. The lower half is the number of the round.
const slotStamp = 1<<32 | 1

// WatchSlots starts to look at slots that a stream fills with Stamp slotStamp, round i into slot i modulo Slots, by Writes
// as long as a slot. The last word of a slot is the flag of the Write: when it is there, so are all other words, or newer
// ones. No word may be torn, and none may be of a round that does not belong there. Result: ID.
type WatchSlots struct {
	Memory int
	Stride int // bytes of a slot
	Slots  int
}

type slotWatch struct {
	WatchSlots
	memory    *verbs.Memory
	flags     []uint64 // as last seen
	changes   uint64
	complaint string
}

func (c WatchSlots) carryOut(a *agent) (Result, error) {
	m, err := a.memories.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	return Result{ID: a.watches.put(&slotWatch{WatchSlots: c, memory: m, flags: make([]uint64, c.Slots)})}, nil
}

func (w *slotWatch) look() {
	for slot := range w.Slots {
		flag := w.memory.Load64((slot+1)*w.Stride - 8)
		if flag == w.flags[slot] {
			continue
		}
		if flag < w.flags[slot] {
			w.complain(slot, "its flag went back from %#x to %#x", w.flags[slot], flag)
		}
		w.flags[slot] = flag
		w.changes++
		w.check(slot, flag)
	}
}

// check looks at every word of a slot. It begins with those just below the flag, which a careless NIC would write last.
func (w *slotWatch) check(slot int, flag uint64) {
	for offset := w.Stride - 8; offset >= 0; offset -= 8 {
		word := w.memory.Load64(slot*w.Stride + offset)
		switch round := int(word & 0xffffffff); {
		case word>>32 != word&0xffffffff:
			w.complain(slot, "the word at %d was torn: %#x", offset, word)
		case word < flag:
			w.complain(slot, "its flag was %#x when the word at %d was still %#x", flag, offset, word)
		case word != 0 && round%w.Slots != slot:
			w.complain(slot, "the word at %d is of round %d, which does not belong there", offset, round)
		}
	}
}

func (w *slotWatch) report() (uint64, string) { return w.changes, w.complaint }

func (w *slotWatch) complain(slot int, format string, args ...any) {
	if w.complaint == "" {
		w.complaint = fmt.Sprintf("slot %d: "+format, append([]any{slot}, args...)...)
	}
}
