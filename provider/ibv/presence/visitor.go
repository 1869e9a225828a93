package presence

import (
	"bufio"
	"fmt"
	"net"
)

// visitor is a peer's connection to the desk.
type visitor struct {
	desk   *desk
	number uint64 // in the order of coming
	link   *link

	// Guarded by desk.mu.
	names   map[Name]bool // that it watches. Invariant: all are known
	knew    int           // how many names it ever asked for that were known
	greeted bool          // it was
}

// admit takes a visitor in, who has a seat.
func (d *desk) admit(conn net.Conn) {
	limitSilence(conn, d.config.KeepAlive)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.arrived++
	v := &visitor{desk: d, number: d.arrived, link: newLink(conn, window), names: make(map[Name]bool)}
	d.visitors[v] = true
	if d.closed {
		v.link.cut()
	}
	d.ended.Go(func() { v.runRead(conn) })
}

// runRead listens to the visitor until the link is cut. Office.Close cuts it, and waits.
func (v *visitor) runRead(conn net.Conn) {
	defer v.leave()
	r := bufio.NewReader(conn)
	err := readGreeting(r)
	if err == nil {
		err = v.link.read(r, v.hear)
	}
	v.desk.config.Log.Debug("presence: a visitor left", "from", conn.RemoteAddr(), "error", err)
}

// leave forgets the visitor, and frees its seat.
func (v *visitor) leave() {
	v.link.cut()
	d := v.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range v.names {
		delete(d.known[n], v)
	}
	delete(d.visitors, v)
	<-d.seats
}

// hear does what the visitor asks for, and greets it with the first answer: who was shown out before knows by the lack
// of a greeting that it may call again.
func (v *visitor) hear(m message) error {
	v.desk.mu.Lock()
	defer v.desk.mu.Unlock()
	if !v.greeted {
		v.greeted = true
		v.desk.ended.Go(v.link.runWrite)
	}
	switch n := Name(m.value); m.kind {
	case subscribe:
		return v.subscribe(n)
	case unsubscribe:
		delete(v.names, n)
		delete(v.desk.known[n], v)
		return nil
	}
	return misplaced(m)
}

func (v *visitor) subscribe(n Name) error {
	watchers, known := v.desk.known[n]
	if !known {
		v.answer(gone, n)
		return nil
	}
	if len(v.names) == v.desk.limits.names && !v.names[n] {
		return fmt.Errorf("it watches more than %d names", v.desk.limits.names)
	}
	v.names[n], watchers[v] = true, true
	v.knew++
	v.answer(here, n)
	return nil
}

// answer says what is known of a name. What can wait for an honest visitor is one end for each name it knew, a backlog,
// and the window of what it asked for meanwhile: who lets more wait is cut off. The caller holds desk.mu.
func (v *visitor) answer(k kind, n Name) {
	v.link.send(message{k, uint64(n)}, min(v.knew, v.desk.limits.names)+2*window)
}
