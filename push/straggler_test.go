package push

import (
	"strings"
	"testing"
	"time"
)

// cubeOf is a window of a group in which every two ranks that differ in one bit have exchanged blocks, at a rate for each hop.
func cubeOf(members int, rate func(from, to int) float64) measure {
	m := measure{hops: make(map[hop]sample), full: make([]time.Duration, members), took: time.Second}
	for from := range members {
		for bit := 1; bit < members; bit *= 2 {
			if to := from ^ bit; to < members && to != 0 {
				m.hops[hop{from, to}] = sample{uint64(rate(from, to)) / 2, time.Second / 2}
			}
		}
	}
	return m
}

func TestSlowHost(t *testing.T) {
	half := func(slow, direction int) func(from, to int) float64 {
		return func(from, to int) float64 {
			if (direction <= 0 && from == slow) || (direction >= 0 && to == slow) {
				return 50e6
			}
			return 100e6
		}
	}
	for _, c := range []struct {
		name    string
		members int
		rate    func(from, to int) float64
		want    int
	}{
		{"all alike", 8, func(int, int) float64 { return 100e6 }, 0},
		{"half the rate both ways", 8, half(5, 0), 5},
		{"slow to receive", 8, half(5, 1), 5},
		{"slow to send", 8, half(6, -1), 6},
		{"the last of four", 4, half(3, 0), 3},
		{"the root itself is no straggler", 8, half(0, 0), 0},
		{"one slow hop says nothing of its ends", 8, func(from, to int) float64 {
			if from == 1 && to == 3 {
				return 10e6
			}
			return 100e6
		}, 0},
		{"a little slower", 8, func(from, to int) float64 { return 100e6 - 3e6*float64(to) }, 0},
	} {
		if got, why := slowHost(cubeOf(c.members, c.rate), c.members); got != c.want {
			t.Errorf("%s: rank %d (%s), want %d", c.name, got, why, c.want)
		}
	}
}

func TestSlowLinkInAChain(t *testing.T) {
	m := measure{hops: make(map[hop]sample), took: time.Second, full: make([]time.Duration, 5)}
	for from := range 4 {
		rate := uint64(100e6)
		if from == 2 || from+1 == 2 {
			rate = 50e6
		}
		m.hops[hop{from, from + 1}] = sample{rate, time.Second}
	}
	if got, why := slowHost(m, 5); got != 2 {
		t.Errorf("rank %d is slow (%s), want 2", got, why)
	}
}

func TestSlowDisk(t *testing.T) {
	m := cubeOf(8, func(int, int) float64 { return 100e6 })
	m.full[3] = 700 * time.Millisecond
	if got, why := slowHost(m, 8); got != 3 || !strings.Contains(why, "disk") {
		t.Errorf("rank %d is slow (%s), want 3 for its disk", got, why)
	}
	for r := range m.full {
		m.full[r] = 700 * time.Millisecond
	}
	if got, why := slowHost(m, 8); got != 0 {
		t.Errorf("all disks are slow, and rank %d is blamed (%s)", got, why)
	}
}

func TestTooLittleToTell(t *testing.T) {
	m := measure{hops: map[hop]sample{{0, 1}: {10, time.Millisecond}}, full: make([]time.Duration, 3), took: time.Second}
	if got, _ := slowHost(m, 3); got != 0 {
		t.Errorf("rank %d is slow by one block", got)
	}
}

func TestSince(t *testing.T) {
	before := measure{hops: map[hop]sample{{0, 1}: {100, time.Second}}, full: []time.Duration{0, time.Second}}
	now := measure{hops: map[hop]sample{{0, 1}: {300, 2 * time.Second}, {0, 2}: {7, 1}}, full: []time.Duration{0, 3 * time.Second}}
	d := now.since(before, time.Second)
	if d.hops[hop{0, 1}] != (sample{200, time.Second}) || d.hops[hop{0, 2}] != (sample{7, 1}) || d.full[1] != 2*time.Second {
		t.Errorf("the difference is %+v", d)
	}
}
