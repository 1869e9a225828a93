package leak

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// maxGroups bounds a report: one forgotten Close in a loop should not bury the others, nor fill a screen.
const maxGroups = 10

// check describes what is open, or returns nil.
func (t *tracker) check() error {
	groups, total := t.groups()
	if total == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d objects were not closed:", total)
	for i, g := range groups {
		if i == maxGroups {
			fmt.Fprintf(&b, "\n… and objects opened in %d other places", len(groups)-maxGroups)
			break
		}
		fmt.Fprintf(&b, "\n%d × %s, opened by%s", g.count, g.kind, frames(g.stack))
	}
	return errors.New(b.String())
}

// group counts the open objects of one origin.
type group struct {
	origin
	count int
}

// groups returns the origins of the open objects, in the order of their slots, and how many objects are open.
func (t *tracker) groups() (groups []group, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	place := make(map[origin]int) // index into groups
	for i := range t.slots {
		s := &t.slots[i]
		if !s.open {
			continue
		}
		total++
		at, seen := place[s.origin]
		if !seen {
			at = len(groups)
			place[s.origin] = at
			groups = append(groups, group{origin: s.origin})
		}
		groups[at].count++
	}
	return groups, total
}

// frames prints a stack, one call a line.
func frames(stack [maxDepth]uintptr) string {
	depth := 0
	for depth < maxDepth && stack[depth] != 0 {
		depth++
	}
	var b strings.Builder
	calls := runtime.CallersFrames(stack[:depth])
	for more := depth > 0; more; {
		var f runtime.Frame
		f, more = calls.Next()
		fmt.Fprintf(&b, "\n\t%s\n\t\t%s:%d", f.Function, f.File, f.Line)
	}
	return b.String()
}
