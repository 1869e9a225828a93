package soft

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-fabric/weft/verbs/driver"
)

// TestDoneQueueIsAQueue compares a doneQueue with a plain list of completions, under any order of reporting, polling and
// withdrawing. Queue stands for the source, Tag for the order.
func TestDoneQueueIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var done doneQueue
		var want []driver.Completion
		var sources []*source
		last, most := driver.Tag(0), 0
		t.Repeat(map[string]func(*rapid.T){
			"open": func(*rapid.T) { sources = append(sources, new(source)) },
			"report": func(t *rapid.T) {
				open := slices.DeleteFunc(slices.Clone(sources), func(s *source) bool { return s == nil })
				if len(open) == 0 {
					t.Skip("nobody is there")
				}
				from := rapid.SampledFrom(open).Draw(t, "from")
				for range rapid.IntRange(1, 40).Draw(t, "completions") {
					last++
					c := driver.Completion{Tag: last, Queue: uint32(slices.Index(sources, from))}
					done.reserve()
					*done.last() = doneItem{c, from}
					from.queued++
					want = append(want, c)
				}
				most = max(most, len(want))
			},
			"poll": func(t *rapid.T) {
				into := make([]driver.Completion, rapid.IntRange(0, 60).Draw(t, "room"))
				n := done.pop(into)
				if !slices.Equal(into[:n], want[:min(len(into), len(want))]) {
					t.Fatalf("polled %v, want the first %d of %v", into[:n], len(into), want)
				}
				want = want[n:]
			},
			"withdraw": func(t *rapid.T) {
				if len(sources) == 0 {
					t.Skip("nobody is there")
				}
				i := rapid.IntRange(0, len(sources)-1).Draw(t, "source")
				if sources[i] == nil {
					t.Skip("it is closed already")
				}
				done.withdraw(sources[i])
				sources[i] = nil
				want = slices.DeleteFunc(want, func(c driver.Completion) bool { return c.Queue == uint32(i) })
			},
			"": func(t *rapid.T) {
				if done.count() != len(want) {
					t.Fatalf("%d completions, want %d", done.count(), len(want))
				}
				if longest := max(4*most, 16); len(done.items) > longest {
					t.Fatalf("%d places for at most %d completions, want at most %d", len(done.items), most, longest)
				}
			},
		})
	})
}

// TestDoneQueueSweeps: what was withdrawn needs no room for ever, though a completion in front of it is never polled.
func TestDoneQueueSweeps(t *testing.T) {
	var done doneQueue
	report := func(from *source) {
		done.reserve()
		done.last().from = from
		from.queued++
	}
	report(new(source))
	for range 3000 {
		closing := new(source)
		for range 3 {
			report(closing)
		}
		done.withdraw(closing)
	}
	if len(done.items) != 16 || done.count() != 1 {
		t.Errorf("%d places for %d completions, want 16 for 1", len(done.items), done.count())
	}
}
