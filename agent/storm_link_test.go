package agent

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
)

// link is the only way to a host: what it lets through can be cut and frozen.
type link struct {
	listener net.Listener
	pumps    sync.WaitGroup

	mu     sync.Mutex
	to     string
	open   map[net.Conn]bool
	shut   time.Time // nothing is let through before
	frozen time.Time // no byte goes on before
}

func newLink(t testing.TB) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	l := &link{listener: listener, open: map[net.Conn]bool{}}
	l.pumps.Go(l.runAccept)
	return l
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) lead(to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = to
}

// close ends it, and waits for its goroutines.
func (l *link) close() {
	_ = l.listener.Close()
	l.cut(time.Hour)
	l.freeze(0)
	l.pumps.Wait()
}

// cut cuts all connections, and lets none through for a while.
func (l *link) cut(long time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shut = time.Now().Add(long)
	for c := range l.open {
		_ = c.Close()
	}
}

func (l *link) freeze(long time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = time.Now().Add(long)
}

// runAccept lets connections through until close.
func (l *link) runAccept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.pumps.Go(func() { l.join(near) })
	}
}

// join connects both sides until one of them closes.
func (l *link) join(near net.Conn) {
	defer func() { _ = near.Close() }()
	l.mu.Lock()
	to, shut := l.to, l.shut
	l.mu.Unlock()
	if time.Now().Before(shut) {
		return
	}
	far, err := net.DialTimeout("tcp", to, time.Second)
	if err != nil {
		return
	}
	l.remember(near, far)
	defer l.forget(near, far)
	var back sync.WaitGroup
	back.Go(func() { l.pump(near, far) })
	l.pump(far, near)
	back.Wait()
}

func (l *link) remember(some ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range some {
		l.open[c] = true
		if time.Now().Before(l.shut) {
			_ = c.Close()
		}
	}
}

func (l *link) forget(some ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range some {
		delete(l.open, c)
		_ = c.Close()
	}
}

// pump passes bytes on.
func (l *link) pump(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		l.thaw()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// thaw waits while it is frozen.
func (l *link) thaw() {
	for {
		l.mu.Lock()
		left := time.Until(l.frozen)
		l.mu.Unlock()
		if left <= 0 {
			return
		}
		_ = pause.For(context.Background(), min(left, 10*time.Millisecond))
	}
}
