package soft

import "github.com/weft-fabric/weft/verbs/driver"

// source is who completions belong to, and who can withdraw them: a queue pair, or shared receives. Changes of memory
// access belong to their completion queue.
type source struct {
	queued int // completions that wait to be polled
}

// doneQueue is a queue of completions that grows to the largest number that was ever in it, and stays there. What is
// withdrawn keeps its place until that is reached or needed: whoever closes one queue pair of ten thousand does not walk
// through the completions of all.
//
// Invariant: the ring is at most four times as long as the largest number of completions ever in it, or 16.
type doneQueue struct {
	items  []doneItem // a ring; its length is a power of two
	head   int        // of the oldest
	places int        // in use, also by what was withdrawn
	blanks int        // places of what was withdrawn
	extra  int        // control operations among them, at most: package verbs reserves no room for these
}

type doneItem struct {
	driver.Completion
	from *source
}

// blank reports whether the completion was withdrawn: its source knows of none, and adds none any more.
func (i *doneItem) blank() bool { return i.from.queued == 0 }

// count returns how many completions there are.
func (d *doneQueue) count() int { return d.places - d.blanks }

// reserve sees to it that there is a place for one more.
func (d *doneQueue) reserve() {
	if d.places == len(d.items) {
		d.makeRoom()
	}
}

// last takes the place behind the last, which reserve has made. What is there is old.
func (d *doneQueue) last() *doneItem {
	d.places++
	return &d.items[(d.head+d.places-1)&(len(d.items)-1)]
}

// next gives up the place of the oldest. What is there stays valid until another takes it.
func (d *doneQueue) next() *doneItem {
	item := &d.items[d.head]
	d.head = (d.head + 1) & (len(d.items) - 1)
	d.places--
	return item
}

// makeRoom makes the ring longer or, if half of it is blank, sweeps. Either way it pays off: it takes no more steps than
// twice the pushes that it makes room for.
func (d *doneQueue) makeRoom() {
	if d.places == 0 || 2*d.blanks < d.places {
		d.grow()
	} else {
		d.sweep()
	}
}

func (d *doneQueue) grow() {
	longer := make([]doneItem, max(2*len(d.items), 16))
	n := copy(longer, d.items[d.head:])
	copy(longer[n:], d.items[:d.head])
	d.items, d.head = longer, 0
}

// sweep frees the blanks and keeps the others in order: each is taken from the front and, unless it goes, put back behind
// the last.
func (d *doneQueue) sweep() {
	for range d.places {
		if item := *d.next(); !item.blank() {
			*d.last() = item
		}
	}
	d.blanks = 0
}

// pop moves the oldest completions into into, and says how many.
func (d *doneQueue) pop(into []driver.Completion) int {
	n := 0
	for n < len(into) && d.places > 0 {
		item := d.next()
		if item.blank() {
			d.blanks--
			continue
		}
		item.from.queued--
		into[n] = item.Completion
		n++
	}
	if d.count() == 0 {
		d.places, d.blanks, d.extra = 0, 0, 0
	}
	return n
}

// withdraw removes what is there of a source that was closed.
func (d *doneQueue) withdraw(from *source) {
	d.blanks += from.queued
	from.queued = 0
}
