package presence

import (
	"errors"
	"net"
	"sync"
	"time"
)

// desk is where peers ask after the office's queue pairs.
type desk struct {
	config   Config
	limits   limits
	ended    *sync.WaitGroup
	listener net.Listener
	seats    chan struct{} // holds one for each visitor
	closing  chan struct{}

	mu       sync.Mutex
	known    map[Name]map[*visitor]bool // who watches each name that exists
	visitors map[*visitor]bool
	arrived  uint64 // how many ever came
	closed   bool
}

func (d *desk) init(config Config, limits limits, ended *sync.WaitGroup, listener net.Listener) {
	d.config, d.limits, d.ended, d.listener = config, limits, ended, listener
	d.seats = make(chan struct{}, limits.visitors)
	d.closing = make(chan struct{})
	d.known = make(map[Name]map[*visitor]bool)
	d.visitors = make(map[*visitor]bool)
}

func (d *desk) port() uint16 { return uint16(d.listener.Addr().(*net.TCPAddr).Port) }

func (d *desk) register(n Name) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[n] == nil && n != 0 {
		d.known[n] = make(map[*visitor]bool)
	}
}

// end forgets a name, and tells whoever watches it.
func (d *desk) end(n Name) {
	d.mu.Lock()
	defer d.mu.Unlock()
	watchers := d.known[n]
	delete(d.known, n)
	for v := range watchers {
		delete(v.names, n)
		v.answer(gone, n)
	}
}

// close hangs up on everybody.
func (d *desk) close() {
	close(d.closing)
	_ = d.listener.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for v := range d.visitors {
		v.link.cut()
	}
}

// runAccept takes in whoever dials. Office.Close closes the listener, and waits.
func (d *desk) runAccept() {
	failed := false
	for {
		conn, err := d.listener.Accept()
		switch {
		case err == nil:
			d.takeIn(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			if !failed {
				d.config.Log.Warn("presence: a peer's connection could not be accepted", "error", err)
			}
			d.rest()
		}
		failed = err != nil
	}
}

// rest waits a little: most likely descriptors have run out, and some will be free again.
func (d *desk) rest() {
	select {
	case <-time.After(d.limits.pause):
	case <-d.closing:
	}
}

// takeIn gives a visitor a seat. While it waits for one, it and those behind it are connected, if only to the kernel: they
// do not take us for dead.
func (d *desk) takeIn(conn net.Conn) {
	if !d.takeSeat() {
		_ = conn.Close()
		return
	}
	d.admit(conn)
}

// takeSeat waits for a seat, and reports false when the office closes. If there is none, a visitor that watches nothing
// has to leave.
func (d *desk) takeSeat() bool {
	select {
	case d.seats <- struct{}{}:
		return true
	default:
	}
	if !d.showOut() {
		d.config.Log.Warn("presence: too many peers watch this process; others wait until one leaves",
			"limit", d.limits.visitors)
	}
	select {
	case d.seats <- struct{}{}:
		return true
	case <-d.closing:
		return false
	}
}

// showOut cuts off the oldest visitor that watches nothing, if there is one.
func (d *desk) showOut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var oldest *visitor
	for v := range d.visitors {
		if len(v.names) == 0 && (oldest == nil || v.number < oldest.number) {
			oldest = v
		}
	}
	if oldest == nil {
		return false
	}
	oldest.link.cut()
	return true
}
