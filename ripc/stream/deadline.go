package stream

import "time"

// deadline is when somebody no longer wants to wait. It belongs to the loop.
type deadline struct {
	at       time.Time // zero: never
	timer    *time.Timer
	isPassed bool
}

// set changes it.
func (d *deadline) set(at time.Time) {
	d.stop()
	d.at, d.isPassed = at, false
}

// look reports whether it has passed. If it will, alarm is called then, outside the loop, and should look again.
func (d *deadline) look(alarm func()) bool {
	if d.at.IsZero() || d.isPassed {
		return d.isPassed
	}
	left := time.Until(d.at)
	switch {
	case left <= 0:
		d.isPassed = true
	case d.timer == nil:
		d.timer = time.AfterFunc(left, alarm)
	default:
		d.timer.Reset(left)
	}
	return d.isPassed
}

// stop has it never pass.
func (d *deadline) stop() {
	d.at, d.isPassed = time.Time{}, false
	if d.timer != nil {
		d.timer.Stop()
	}
}
