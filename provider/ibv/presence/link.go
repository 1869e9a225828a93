package presence

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// window is how many messages an end may have sent without being told that they were heard.
const window = 1024

// link is one end of a connection: a queue of what shall be written, so that nobody waits for a peer that does not read.
type link struct {
	conn    net.Conn
	backlog int // while so many wait to be written, the peer is not told that it was heard: it would ask for more

	mu      sync.Mutex
	changed sync.Cond // there may be something to write, or the link is cut
	queue   []message // what was not written yet, oldest first
	unheard int       // how many were written that the peer has not heard. Invariant: at most window
	due     int       // how many were read that the peer does not know of
	isCut   bool
}

func newLink(conn net.Conn, backlog int) *link {
	l := &link{conn: conn, backlog: backlog}
	l.changed.L = &l.mu
	return l
}

// send queues a message, and returns at once. If most are waiting already, the peer does not read, and is cut off.
func (l *link) send(m message, most int) {
	l.mu.Lock()
	full := len(l.queue) >= most
	if !full && !l.isCut {
		l.queue = append(l.queue, m)
		l.changed.Signal()
	}
	l.mu.Unlock()
	if full {
		l.cut()
	}
}

// cut ends the connection, and with it reading and writing.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return
	}
	l.isCut, l.queue = true, nil
	_ = l.conn.Close()
	l.changed.Signal()
}

// runWrite writes what is queued. It ends when the link is cut, which whoever reads does in the end; Office.Close waits.
func (l *link) runWrite() {
	defer l.cut()
	for out := greeting(); out != nil; out = l.take(out[:0]) {
		if _, err := l.conn.Write(out); err != nil {
			return
		}
	}
}

// take waits for something to write and appends it to out. It returns nil when the link is cut.
func (l *link) take(out []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.isCut && !l.owesWord() && (len(l.queue) == 0 || l.unheard == window) {
		l.changed.Wait()
	}
	if l.isCut {
		return nil
	}
	n := min(len(l.queue), window-l.unheard)
	for _, m := range l.queue[:n] {
		out = appendMessage(out, m)
	}
	l.unheard += n
	if l.queue = l.queue[n:]; len(l.queue) == 0 {
		l.queue = nil // or its array would stay, and it may have been a long one
	}
	if l.owesWord() {
		out = appendMessage(out, message{heard, uint64(l.due)})
		l.due = 0
	}
	return out
}

// owesWord reports whether it is time to say what was heard.
func (l *link) owesWord() bool { return l.due >= window/2 && len(l.queue) < l.backlog }

// read hands every message to handle until the connection ends, and says why it did.
func (l *link) read(r io.Reader, handle func(message) error) error {
	for {
		m, err := readMessage(r)
		if err != nil {
			return err
		}
		if m.kind == heard {
			err = l.wasHeard(m.value)
		} else {
			err = handle(m)
			l.hasRead()
		}
		if err != nil {
			return err
		}
	}
}

// hasRead notes that the peer is owed a word about one more message.
func (l *link) hasRead() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due++; l.owesWord() {
		l.changed.Signal()
	}
}

// wasHeard makes room for so many more.
func (l *link) wasHeard(count uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if count > uint64(l.unheard) {
		return fmt.Errorf("the peer heard %d messages, but only %d were sent", count, l.unheard)
	}
	l.unheard -= int(count)
	l.changed.Signal()
	return nil
}
