package ibv

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
)

// Wait looks for spin, then arms the queue and sleeps until the device or somebody else rings (RDMC section 4.2).
func (c *completionQueue) Wait(until clock.Time, spin time.Duration) error {
	return c.wait(until, spin, nil)
}

// WaitShared is Wait for goroutines that share the queue: a look needs their lock, what is between two looks does not.
func (c *completionQueue) WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error {
	return c.wait(until, spin, lock)
}

// wait is both. Lock is nil if nobody shares the queue.
func (c *completionQueue) wait(until clock.Time, spin time.Duration, lock sync.Locker) error {
	now := clock.Real.Now()
	for end := now.Add(spin); ; now = clock.Real.Now() {
		if c.hasReason() || now >= until {
			c.wakened()
			return nil
		}
		if now >= end {
			break
		}
		if lock != nil {
			lock.Unlock()
			runtime.Gosched() // who takes a lock that is free for a moment only may come too late, again and again
			lock.Lock()
		}
	}
	return c.sleep(until, lock)
}

// hasReason reports whether there is something to poll for, and takes it.
func (c *completionQueue) hasReason() bool {
	if c.hasNotices.Load() || c.first < len(c.ready) || c.called.Load() {
		return true
	}
	return !c.lost && c.gather()
}

// sleep arms, looks once more for what came before the queue was armed, and sleeps.
func (c *completionQueue) sleep(until clock.Time, lock sync.Locker) error {
	if !c.armed && !c.lost {
		if err := c.native.Arm(); err != nil {
			c.device.lose("it does not take requests for notices: " + err.Error())
		}
		c.armed = true
	}
	if !c.hasReason() {
		c.rest(until, lock)
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

// rest sleeps until somebody rings, until has come, or it is time to look for what is late. Who shares the queue may make
// something that could be, meanwhile: to look now and then costs less than to be woken for it each time.
func (c *completionQueue) rest(until clock.Time, lock sync.Locker) {
	fds := [...]unix.PollFd{{Fd: int32(c.bell), Events: unix.POLLIN}, {Fd: int32(c.native.NoticeFD()), Events: unix.POLLIN}}
	watched := fds[:]
	if c.lost {
		watched = fds[:1]
	}
	now := clock.Real.Now()
	if c.watchful || lock != nil {
		until = min(until, now.Add(lookEvery))
	}
	left := until.Sub(now)
	timeout := unix.NsecToTimespec(int64(max(0, left)))
	if lock != nil {
		lock.Unlock()
	}
	_, _ = unix.Ppoll(watched, &timeout, nil) // if it fails, nobody has rung
	if lock != nil {
		lock.Lock()
	}
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
