package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// This file looks at words while a peer writes them.

// Watch starts to look at words that a peer writes, many times each turn, and complains about what must never be seen.
// Result: ID.
//
// The word at Offset must never go back. With Halves its two halves must be equal. If Guards is not 0, it is a flag: when
// it holds f, none of the Guards words from GuardsAt may hold less than f, because they were written before it.
type Watch struct {
	Memory   int
	Offset   int
	Halves   bool
	GuardsAt int
	Guards   int
}

// looker is what looks after each turn of an end's loop.
type looker interface {
	look()
	report() (changes uint64, complaint string)
}

// looks is how often a watcher looks in one turn: enough to meet a writer in the middle of its work.
const looks = 256

type watch struct {
	Watch
	memory    *verbs.Memory
	last      uint64
	changes   uint64
	complaint string
}

func (c Watch) carryOut(a *agent) (Result, error) {
	m, err := a.memories.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	return Result{ID: a.watches.put(&watch{Watch: c, memory: m})}, nil
}

func (w *watch) look() {
	for range looks {
		now := w.memory.Load64(w.Offset)
		switch {
		case now < w.last:
			w.complain("the word went back from %#x to %#x", w.last, now)
		case w.Halves && now>>32 != now&0xffffffff:
			w.complain("the word was torn: %#x", now)
		case now == w.last:
			continue
		}
		w.last = now
		w.changes++
		w.checkGuards(now)
	}
}

// checkGuards looks at the last word first: who writes too late is most likely to be late there.
func (w *watch) checkGuards(flag uint64) {
	for i := w.Guards - 1; i >= 0; i-- {
		if got := w.memory.Load64(w.GuardsAt + 8*i); got < flag {
			w.complain("the flag was %d while word %d of what it guards was %d", flag, i, got)
		}
	}
}

func (w *watch) report() (uint64, string) { return w.changes, w.complaint }

func (w *watch) complain(format string, args ...any) {
	if w.complaint == "" {
		w.complaint = fmt.Sprintf(format, args...)
	}
}

// WatchState asks what a watcher has seen, and may tell it to look no more, as it must before its memory is closed. Result:
// Word, how many changes; Text, its complaint if it has one.
type WatchState struct {
	Watch int
	Stop  bool
}

// blind is a watcher that has stopped.
type blind struct {
	changes   uint64
	complaint string
}

func (blind) look()                      {}
func (b blind) report() (uint64, string) { return b.changes, b.complaint }

func (c WatchState) carryOut(a *agent) (Result, error) {
	w, err := a.watches.get(c.Watch)
	if err != nil {
		return Result{}, err
	}
	changes, complaint := w.report()
	if c.Stop {
		a.watches.items[c.Watch-1] = blind{changes, complaint}
	}
	r := Result{Word: changes}
	if complaint != "" {
		r.Text = []string{complaint}
	}
	return r, nil
}
