package ibv

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/provider/ibv/native"
)

// watcher hears of what happens to the device, its port and its queue pairs (InfiniBand: asynchronous events).
type watcher struct {
	device   *Device
	bell     int // an eventfd; written to stop
	finished chan struct{}
}

func (d *Device) watch() (*watcher, error) {
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	w := &watcher{device: d, bell: bell, finished: make(chan struct{})}
	go w.runEvents()
	return w, nil
}

// stop ends the goroutine and waits for it.
func (w *watcher) stop() {
	ringBell(w.bell)
	<-w.finished
	_ = unix.Close(w.bell)
}

// runEvents is the watcher's goroutine. It ends by stop, or when the device has no more to say.
func (w *watcher) runEvents() {
	defer close(w.finished)
	fds := []unix.PollFd{{Fd: int32(w.device.context.EventFD()), Events: unix.POLLIN}, {Fd: int32(w.bell), Events: unix.POLLIN}}
	for {
		if _, err := unix.Ppoll(fds, nil, nil); err != nil && err != unix.EINTR {
			return
		}
		if fds[1].Revents != 0 {
			return
		}
		if fds[0].Revents != 0 && !w.takeEvents() {
			return
		}
	}
}

// takeEvents handles what there is, and says whether more can come.
func (w *watcher) takeEvents() bool {
	for {
		event, found, err := w.device.context.NextEvent()
		if err != nil {
			w.device.lose()
			return false
		}
		if !found {
			return true
		}
		w.device.heed(event)
	}
}

// heed acts on an event.
func (d *Device) heed(e native.Event) {
	switch e.Type {
	case native.DeviceFatal:
		d.lose()
	case native.PortError:
		d.log.Warn("RDMA port is down: what is under way ends when peers do not answer", "device", d.choice.String(), "port", e.Whose)
	case native.PortActive:
		d.log.Info("RDMA port is up", "device", d.choice.String(), "port", e.Whose)
	case native.PairFatal, native.PairInvalid, native.PairAccess:
		d.eachQueue(func(c *completionQueue) { c.tell(notice{kind: pairFailed, number: e.Whose}) })
	}
}

// lose is called when the device is gone: every operation ends now, because nobody else will end it.
func (d *Device) lose() {
	if d.lost.Swap(true) {
		return
	}
	d.log.Error("RDMA device is gone: everything under way on it has failed", "device", d.choice.String())
	d.eachQueue(func(c *completionQueue) { c.tell(notice{kind: deviceLost}) })
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
