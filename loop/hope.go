package loop

import "time"

// hope is whether it pays to spin for long. The zero value is full of it.
//
// Who sleeps loses the time of an awakening in every pause: a sixth of it if pauses last 300 µs, hardly anything if they
// last a millisecond; but the longer they are, the more a spinner burns. On links of 200 Mbit/s, where a block of 32 KiB
// takes 1.3 ms, members of a group that spun for up to 1 ms used two to three times the processor time of sleepers, and gained
// nothing. Pauses lasted 600 µs on average there, and 200 µs among processes of one host, where spinning helps.
type hope struct {
	pause time.Duration // the average of the last ones, in which older ones hardly count
}

// hopeSpan is how many pauses are the last ones.
const hopeSpan = 16

// learn takes in a pause of a loop that was told to spin for a while. However long it was, it counts as one in which all of
// that was in vain.
func (h *hope) learn(pause, spin time.Duration) { h.pause += (min(pause, spin) - h.pause) / hopeSpan }

// limit is how long to spin, of the while that a loop was told. Up to DefaultSpin there is nothing to lose; and pauses of a
// loop that sleeps are longer by about that, so that it would not notice that they have become short.
func (h *hope) limit(spin time.Duration) time.Duration {
	if spin > DefaultSpin && h.pause > spin/2 {
		return 0
	}
	return spin
}
