package peers

import (
	"time"

	"github.com/weft-fabric/weft/bench/pinned"
)

// Roles are the parts that run in processes of their own; the program gives them to pinned.Main.
func Roles() map[string]pinned.Role {
	return map[string]pinned.Role{
		"copy":             playCopy,
		"cache line":       playCacheLine,
		"answers":          playAnswers,
		"asks":             playAsks,
		"unlocked asks":    unlocked(playAsks),
		"unlocked answers": unlocked(playAnswers),
		"tcp reads":        playTCPReads,
		"tcp writes":       playTCPWrites,
	}
}

// order is what a role is to do: as much as fits the time is not known before, so counts are fixed.
type order struct {
	Network string // as net.Dial takes it, of those that can choose
	Address string // where the other side listens; empty for the side that does
	Size    int    // bytes of a message
	Count   int    // messages that are timed
	Warm    int    // messages before them
}

// timed runs work for the messages that warm up, and returns how long it took for the others.
func timed(o order, work func(n int) error) (time.Duration, error) {
	if err := work(o.Warm); err != nil {
		return 0, err
	}
	start := time.Now()
	err := work(o.Count)
	return time.Since(start), err
}

// halfTrip is half of one of count round trips, in microseconds.
func halfTrip(took time.Duration, count int) float64 {
	return took.Seconds() * 1e6 / float64(2*count)
}
