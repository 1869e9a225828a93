package ibv

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
)

// Wait looks for spin, then arms the queue and sleeps until the device or somebody else rings (RDMC section 4.2).
func (c *completionQueue) Wait(until clock.Time, spin time.Duration) error {
	now := clock.Real.Now()
	for end := now.Add(spin); ; now = clock.Real.Now() {
		if c.hasReason() || now >= until {
			c.wakened()
			return nil
		}
		if now >= end {
			break
		}
	}
	return c.sleep(until)
}

// hasReason reports whether there is something to poll for, and takes it.
func (c *completionQueue) hasReason() bool {
	if c.hasNotices.Load() || c.first < len(c.ready) || c.called.Load() {
		return true
	}
	return !c.lost && c.gather()
}

// sleep arms, looks once more for what came before the queue was armed, and sleeps.
func (c *completionQueue) sleep(until clock.Time) error {
	if !c.armed && !c.lost {
		if err := c.native.Arm(); err != nil {
			c.device.lose("it does not take requests for notices: " + err.Error())
		}
		c.armed = true
	}
	if !c.hasReason() {
		c.rest(until)
	}
	c.wakened()
	return nil
}

// wakened ends a Wait. A Wake that comes meanwhile leaves the bell ringing, or the flag up, for the next one.
func (c *completionQueue) wakened() {
	if c.called.Load() || c.hasNotices.Load() {
		hushBell(c.bell)
		c.called.Store(false)
	}
}

// rest sleeps until somebody rings, until has come, or it is time to look for what is late.
func (c *completionQueue) rest(until clock.Time) {
	fds := [...]unix.PollFd{{Fd: int32(c.bell), Events: unix.POLLIN}, {Fd: int32(c.native.NoticeFD()), Events: unix.POLLIN}}
	watched := fds[:]
	if c.lost {
		watched = fds[:1]
	}
	now := clock.Real.Now()
	if c.watchful {
		until = min(until, now.Add(lookEvery))
	}
	left := until.Sub(now)
	timeout := unix.NsecToTimespec(int64(max(0, left)))
	_, _ = unix.Ppoll(watched, &timeout, nil) // if it fails, nobody has rung
	if fds[0].Revents != 0 {
		hushBell(c.bell) // or it would ring for ever if whoever rang it was served without it
	}
	if fds[1].Revents != 0 {
		c.armed = false
		_ = c.native.TakeNotices() // a notice that cannot be read was none
	}
	c.lookIfDue(clock.Real.Now())
}

// Wake ends the Wait under way, or the next one. It may come late, when the queue is closed.
func (c *completionQueue) Wake() {
	c.called.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring()
}
