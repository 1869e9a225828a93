package oneport

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// listener is one of a port's. It implements net.Listener.
type listener struct {
	port  *Port
	name  string
	queue chan net.Conn // of those that wait for Accept; it holds none
	once  sync.Once
	done  chan struct{} // closed with the listener
}

// Listener returns what awaits those who mean a name. Its Close frees the name, and leaves the port open. Connections that it
// accepts are those of package net, with the preface read.
func (p *Port) Listener(name string) (net.Listener, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, p.failure("listen", net.ErrClosed)
	case p.listeners[name] != nil:
		return nil, p.failure("listen", fmt.Errorf("%q: %w", name, ErrTaken))
	}
	l := &listener{port: p, name: name, queue: make(chan net.Conn), done: make(chan struct{})}
	p.listeners[name] = l
	return l, nil
}

// failure is an error as package net says it.
func (p *Port) failure(what string, err error) error {
	return &net.OpError{Op: what, Net: "tcp", Addr: p.Addr(), Err: err}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		select {
		case c := <-l.queue:
			if l.port.known(c) {
				return c, nil
			}
		case <-l.done:
			return nil, l.port.failure("accept", net.ErrClosed)
		case <-l.port.done:
			return nil, l.port.failure("accept", net.ErrClosed)
		}
	}
}

// offer has the connection accepted, and reports whether it was.
func (l *listener) offer(c net.Conn) bool {
	late := time.NewTimer(acceptWithin)
	defer late.Stop()
	select {
	case l.queue <- c:
		return true
	case <-late.C:
	case <-l.done:
	case <-l.port.done:
	}
	return false
}

// Addr implements net.Listener: it is where the port is.
func (l *listener) Addr() net.Addr { return l.port.Addr() }

// Close implements net.Listener. A second one does nothing.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.port.mu.Lock()
		defer l.port.mu.Unlock()
		delete(l.port.listeners, l.name)
		close(l.done)
	})
	return nil
}
