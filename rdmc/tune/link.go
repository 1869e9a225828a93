package tune

import "time"

// link is a network in nanoseconds, as a message passes it.
type link struct {
	byteTime float64 // of one byte on a link
	upTime   float64 // of one byte between racks; 0: no bottleneck
	gap      float64 // that a message keeps its sender's NIC
	before   float64 // from posting a message until it begins to leave
	fetch    float64 // the same again, for what has bytes to be read
	net      float64 // from NIC to NIC
	after    float64 // from there until the host sees it
	offload  bool    // NICs relay by themselves
}

// hostTime is how much of the latency hosts and their NICs take, unless that is more than two thirds: Breaking Band (table
// 1) found 0.75 of 1.14 µs, and what is more is the network's.
const hostTime = 750 * time.Nanosecond

// farther is how many times as long the network takes between racks: over two more switches, and longer wires.
const farther = 2.1

func (n Network) link() link {
	latency := float64(n.Latency)
	host := min(float64(hostTime), latency*2/3)
	l := link{byteTime: 8e9 / n.Rate, gap: float64(n.Message), before: host * 5 / 12, fetch: host / 3, net: latency - host, after: host * 7 / 12,
		offload: n.Offload}
	if n.Uplink > 0 {
		l.upTime = 8e9 / n.Uplink
	}
	return l
}

// hop is how long a block takes from one host to the next.
func (l link) hop(block float64) float64 {
	return l.before + l.fetch + block*l.byteTime + l.net + l.after
}

// word is how long a credit takes.
func (l link) word() float64 { return l.before + l.net + l.after }
