package soft

import "golang.org/x/sys/unix"

// The payload of a frame comes in packets, and on a slow link each of them would wake an owner that sleeps, to put a few
// bytes in place that nobody can use yet. So before it sleeps the kernel is told to report a socket only when the frame is
// whole, or when much has come.
const (
	leastPatience = 4 << 10
	mostPatience  = 64 << 10 // the kernel must have room for as much; and what lies there for long leaves the cache
)

// lack notes that much of a frame has not come yet. Whoever has read is as impatient again as what is missing allows.
func (w *wire) lack() {
	if w.patient > int(w.in.left) {
		w.expect(0)
	}
	if w.in.left >= leastPatience && !w.lacking {
		w.lacking = true
		w.poller.lacking = append(w.poller.lacking, w)
	}
}

// expect sets how many bytes must have come before the kernel reports them. The end of the stream it always reports.
func (w *wire) expect(bytes int) {
	if w.patient != bytes && unix.SetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, max(1, bytes)) == nil {
		w.patient = bytes
	}
}

// bePatient is called before the owner sleeps.
func (c *CompletionQueue) bePatient(p *poller) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.resting = true
	for _, w := range p.lacking {
		w.lacking = false
		if _, plain := w.pipe.(*socket); plain && !w.closed && !w.leaving && w.in.left >= leastPatience {
			w.expect(min(int(w.in.left), mostPatience))
		}
	}
	clear(p.lacking)
	p.lacking = p.lacking[:0]
}
