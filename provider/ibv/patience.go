package ibv

import "time"

// This file is how long a device tries to reach a peer that does not answer.

// retries is how often a packet is sent again. The architecture has room for seven, which rxe takes for: as often as you like.
const retries = 6

// shortestSilence is the shortest time that presence can be told a host may be silent. The kernel counts whole seconds and judges when the time of
// a probe is over, so it may take twice as long.
const shortestSilence = time.Second

// peerTimeout is what Limits promise.
func (d *Device) peerTimeout() time.Duration {
	return max(time.Duration(d.slack())*patience(d.timeout), 2*shortestSilence)
}

// slack is how many times as long as it is told a device may take. The architecture lets hardware take four times; software has only the
// ticks of a kernel that may be busy.
func (d *Device) slack() int {
	if d.isSoftware() {
		return 2
	}
	return 4
}

// patience is how long a device that is exact tries to reach a silent peer.
func patience(timeout uint8) time.Duration { return 4096 * time.Nanosecond << timeout * (retries + 1) }

// timeoutFor is the longest timeout with which a silent peer is still reported within limit, as far as hardware can: packets of a busy
// network need some time.
func timeoutFor(limit time.Duration, slack int) uint8 {
	const shortest, longest = 12, 24 // 17 ms, 69 s
	timeout := uint8(longest)
	for timeout > shortest && time.Duration(slack)*patience(timeout) > limit {
		timeout--
	}
	return timeout
}
