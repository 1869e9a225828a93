package oneport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/internal/leak"
)

// What strangers may take: those who have not said whom they mean, or whom nobody has accepted yet. When there are too
// many, the one that has been there longest goes: who means it speaks at once.
const (
	maxStrangers = 1024             // and no more than a quarter of the descriptors that the process may have
	patience     = 2 * time.Second  // for a preface
	acceptWithin = 10 * time.Second // who was named should have accepted by then
)

// Port is a port that several listeners share. Its methods may be called from any goroutine.
type Port struct {
	listener net.Listener
	limit    int           // of strangers
	patience time.Duration // for a preface
	handle   leak.Handle
	done     chan struct{} // closed with the port
	runs     sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	listeners map[string]*listener
	strangers []net.Conn // the oldest first
}

// Listen opens a port: "host:port", as package net takes it.
func Listen(address string) (*Port, error) { return open(address, strangersAllowed(), patience) }

// strangersAllowed is how many there may be: what a process may have open is for more than those who say nothing.
func strangersAllowed() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return maxStrangers
	}
	return int(max(1, min(maxStrangers, files.Cur/4)))
}

func open(address string, limit int, patience time.Duration) (*Port, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: another program listens there; stop it, or choose another port (0 takes a free one)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	p := &Port{listener: l, limit: limit, patience: patience, handle: leak.Opened("oneport.Port"), done: make(chan struct{}),
		listeners: make(map[string]*listener)}
	p.runs.Go(p.runAccept)
	return p, nil
}

// Addr is where the port is.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Close closes the port, whoever nobody has accepted, and all its listeners: their Accept fails with net.ErrClosed. A
// second Close does nothing.
func (p *Port) Close() error {
	if !p.end() {
		return nil
	}
	err := p.listener.Close()
	p.runs.Wait()
	p.handle.Closed()
	return err
}

// end hangs up on strangers, and lets nobody in any more.
func (p *Port) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.closed = true
	close(p.done)
	for _, c := range p.strangers {
		_ = c.Close()
	}
	return true
}

// runAccept takes in whoever dials. Close ends it, and waits.
func (p *Port) runAccept() {
	for {
		c, err := p.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			p.rest() // most likely descriptors have run out; some will be free again
		case p.admit(c):
			p.runs.Go(func() { p.runStranger(c) })
		}
	}
}

func (p *Port) rest() {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-p.done:
	}
}

// admit notes a stranger, if need be instead of the oldest.
func (p *Port) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	if len(p.strangers) == p.limit {
		_ = p.strangers[0].Close()
		p.strangers = p.strangers[1:]
	}
	p.strangers = append(p.strangers, c)
	return true
}

// known takes a stranger off the list, and reports whether it was still there: otherwise it was hung up on.
func (p *Port) known(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.strangers {
		if p.strangers[i] == c {
			p.strangers = append(p.strangers[:i], p.strangers[i+1:]...)
			return !p.closed
		}
	}
	return false
}

// runStranger hears whom a stranger means, and hands it over. It ends by itself; Close hangs up, and waits.
func (p *Port) runStranger(c net.Conn) {
	l := p.hear(c)
	if l == nil || !l.offer(c) {
		p.known(c)
		_ = c.Close()
	}
}

// hear is the listener that a stranger means, or nil. It reads the preface and not a byte more.
func (p *Port) hear(c net.Conn) *listener {
	var said [prefaceSize]byte
	_ = c.SetReadDeadline(time.Now().Add(p.patience)) // a connection that is closed says so when it is read
	if _, err := io.ReadFull(c, said[:]); err != nil {
		return nil
	}
	name, ok := parsePreface(said)
	if !ok || c.SetReadDeadline(time.Time{}) != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listeners[name]
}
