package soft

import (
	"context"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// deadline is when a meeting is given up: after a timeout in which the device has met nobody at all, and in any case after
// mostTimeouts of them. Ten thousand queue pairs that connect at once take longer than one timeout, and none of them is
// dead.
type deadline struct {
	timeout time.Duration
	since   clock.Time
}

const mostTimeouts = 10

func (m *meetings) deadline(timeout time.Duration) deadline {
	return deadline{timeout, clock.Real.Now()}
}

// at is when the time is up, as far as is known now.
func (d deadline) at(m *meetings) clock.Time {
	progress := max(d.since, clock.Time(m.progress.Load()))
	return min(progress.Add(d.timeout), d.since.Add(mostTimeouts*d.timeout))
}

func (d deadline) left(m *meetings) time.Duration { return d.at(m).Sub(clock.Real.Now()) }

// callContext ends with such a deadline, or with the device.
func (m *meetings) callContext(timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(m.ctx)
	by := m.deadline(timeout)
	var timer *time.Timer
	timer = time.AfterFunc(mostTimeouts*timeout, func() {
		if left := by.left(m); left > 0 {
			timer.Reset(left)
		} else {
			cancel()
		}
	})
	timer.Reset(timeout) // not before the variable is set
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}
