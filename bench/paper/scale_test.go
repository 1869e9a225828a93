package paper

import (
	"os"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// More blocks than 16 bits can count, the limit of the original: 65 GiB in blocks of 1 MiB.
func Test65GiB(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds")
	}
	e := experiment{members: 3, size: 65*gib + 1}
	r := run(t, e)
	t.Logf("65 GiB to 2: %v, %.3f of what the link needs; %d events in %v", r.last, ratio(r.last, lineTime(e.size, fractus)), r.events, r.wall)
	if ratio(r.last, lineTime(e.size, fractus)) > 1.1 {
		t.Errorf("it takes %.3f of what the link needs", ratio(r.last, lineTime(e.size, fractus)))
	}
}

// Ten thousand members in one group, by each of the algorithms that may be used for so many. To bring them together takes longer
// than the message, so that all but the pipeline have as many in long runs only.
func TestTenThousandMembers(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
		e := experiment{members: 10_000, size: 4 * mib, algorithm: algorithm}
		if testing.Short() || algorithm != schedule.Pipeline && os.Getenv("WEFT_LONG") == "" {
			e.members = 1000
		}
		steps := 2 + 2*14 // two stripes, of two blocks each
		if algorithm == schedule.Chain {
			steps = 4 + e.members
		}
		r := run(t, e)
		t.Logf("%v, %d MiB to %d: %v, skew %v; %d events in %v, %.0f a second", algorithm, e.size/mib, e.members-1, r.last, r.skew(),
			r.events, r.wall, float64(r.events)/r.wall.Seconds())
		// Beside the bytes of a block there are some microseconds of latency in each step.
		if most := time.Duration(steps) * (lineTime(mib, fractus) + 10*time.Microsecond); r.last > most {
			t.Errorf("%v: it took %v, and %d steps take %v", algorithm, r.last, steps, most)
		}
	}
}

// Thousands of members in one group.
func TestThousandsOfMembers(t *testing.T) {
	e := experiment{members: 2500, size: 16 * mib}
	if testing.Short() {
		e.members = 300
	}
	if os.Getenv("WEFT_LONG") != "" {
		e.size = 256 * mib
	}
	r := run(t, e)
	t.Logf("%d MiB to %d: %v, skew %v; %d events in %v, %.0f a second", e.size/mib, e.members-1, r.last, r.skew(), r.events,
		r.wall, float64(r.events)/r.wall.Seconds())
}
