// Package clock is time as protocols see it: nanoseconds in an int64, from a source that may be real or simulated.
//
// Protocol code never reads a clock. It is told the time by the loop that steps it, and the loop asks the device: a
// real NIC lives in real time, a simulated one in the simulator's. Comparing and adding are plain integer operations.
package clock

import "time"

// Time is a moment, in nanoseconds since the start of its clock. Moments of different clocks do not compare.
type Time int64

// Never is later than every moment. A deadline of Never does not expire.
const Never = Time(1<<63 - 1)

// Add returns the moment d after t. It saturates at Never, so that a deadline far away never turns into the past.
func (t Time) Add(d time.Duration) Time {
	sum := t + Time(d)
	if d > 0 && sum < t {
		return Never
	}
	return sum
}

// Sub returns how long after u the moment t is.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// String prints the moment as the time since the start of its clock.
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return time.Duration(t).String()
}

// Clock tells the time. Successive calls never go backwards.
type Clock interface {
	Now() Time
}

// Real is the machine's monotonic clock, counted from the start of the process. It is safe for concurrent use.
var Real Clock = monotonic{start: time.Now()}

type monotonic struct{ start time.Time }

func (m monotonic) Now() Time { return Time(time.Since(m.start)) }
