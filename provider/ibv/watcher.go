package ibv

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/provider/ibv/native"
)

// watcher hears of what happens to the device, its port and its queue pairs (InfiniBand: asynchronous events).
type watcher struct {
	device    *Device
	footprint footprint
	isDown    bool // the port, as far as was said
	bell      int  // an eventfd; written to stop
	finished  chan struct{}
}

func (d *Device) watch() (*watcher, error) {
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	w := &watcher{device: d, footprint: footprintOf(d.choice.Device.File), bell: bell, finished: make(chan struct{})}
	go w.runEvents()
	return w, nil
}

// stop ends the goroutine and waits for it.
func (w *watcher) stop() {
	ringBell(w.bell)
	<-w.finished
	_ = unix.Close(w.bell)
}

// runEvents is the watcher's goroutine. It ends by stop, or when the device is gone.
func (w *watcher) runEvents() {
	defer close(w.finished)
	fds := []unix.PollFd{{Fd: int32(w.device.context.EventFD()), Events: unix.POLLIN}, {Fd: int32(w.bell), Events: unix.POLLIN}}
	for !w.device.lost.Load() {
		timeout := unix.NsecToTimespec(int64(lookForDevice))
		if _, err := unix.Ppoll(fds, &timeout, nil); err != nil && err != unix.EINTR {
			w.device.lose("its events cannot be waited for: " + err.Error())
		}
		switch {
		case fds[1].Revents != 0:
			return
		case fds[0].Revents != 0:
			w.takeEvents()
		}
		if w.footprint.isGone() {
			w.device.lose("it was removed")
		}
	}
}

// takeEvents handles what there is.
func (w *watcher) takeEvents() {
	for {
		event, found, err := w.device.context.NextEvent()
		if err != nil {
			w.device.lose("its events cannot be read: " + err.Error())
		}
		if !found {
			return
		}
		w.heed(event)
	}
}

// heed acts on an event. Those that are not named here change nothing for who is connected.
func (w *watcher) heed(e native.Event) {
	d := w.device
	switch e.Type {
	case native.DeviceFatal:
		d.lose("it has failed, or was removed")
	case native.QueueError:
		d.lose("a completion queue of it has failed")
	case native.PortError, native.PortActive:
		w.heedPort(e)
	case native.PairFatal, native.PairInvalid, native.PairAccess, native.PairLastTaken:
		d.eachQueue(func(c *completionQueue) { c.tell(notice{kind: pairFailed, number: e.Whose}) })
	}
}

// heedPort logs what happened to the port, once.
func (w *watcher) heedPort(e native.Event) {
	d, isDown := w.device, e.Type == native.PortError
	if e.Whose != uint32(d.choice.Port.Number) || isDown == w.isDown {
		return
	}
	w.isDown = isDown
	if isDown {
		d.log.Warn("RDMA port is down: what is under way fails, or waits for it as long as for a peer that does not answer",
			"device", d.Name(), "limit", d.limits.PeerTimeout)
		return
	}
	d.log.Info("RDMA port is up again", "device", d.Name())
}

// lose is called when the device is gone: every operation ends now, because nobody else will end it.
func (d *Device) lose(why string) {
	if d.lost.Swap(true) {
		return
	}
	d.log.Error("RDMA device is gone, and everything under way on it has failed: close it, and open it again when it is back",
		"device", d.Name(), "reason", why)
	d.eachQueue(func(c *completionQueue) { c.tell(notice{kind: deviceLost}) })
}

// forgive lets a device that is gone not refuse to let go of something.
func (d *Device) forgive(err error) error {
	if d.lost.Load() {
		return nil
	}
	return err
}

func (d *Device) eachQueue(f func(*completionQueue)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.queues {
		f(c)
	}
}

// ringBell makes an eventfd readable.
func ringBell(bell int) { _, _ = unix.Write(bell, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// hushBell makes it unreadable again.
func hushBell(bell int) { _, _ = unix.Read(bell, make([]byte, 8)) }
