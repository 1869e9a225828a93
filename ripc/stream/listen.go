package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/ripc"
)

// maxBacklog is how many connections wait to be accepted. One more is refused.
const maxBacklog = 128

// Listener accepts connections to a service. It is a net.Listener.
type Listener struct {
	node    *ripc.Node
	service *ripc.Service
	backlog chan *Conn
	handle  leak.Handle
	run     sync.WaitGroup
	closing sync.Once
	failed  error         // what Close says
	ended   chan struct{} // closed when no more will come
	why     error         // of that
}

// Listen registers a service, and accepts connections to it.
func Listen(ctx context.Context, node *ripc.Node, name string) (*Listener, error) {
	s, err := node.Register(ctx, name)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: Addr{ID: ripc.Name(name), Name: name}, Err: err}
	}
	return NewListener(node, s), nil
}

// NewListener accepts connections to a service, which is its own from now on.
func NewListener(node *ripc.Node, s *ripc.Service) *Listener {
	l := &Listener{node: node, service: s, backlog: make(chan *Conn, maxBacklog), ended: make(chan struct{}),
		handle: leak.Opened("stream.Listener")}
	_ = s.TakeOnlyCalls() // if the node is closed, Accept says so
	l.run.Go(l.runAnswer)
	return l
}

// runAnswer answers who dials, until the service ends: at the latest by Close, which waits for it.
func (l *Listener) runAnswer() {
	defer close(l.ended)
	for m, err := range l.service.Messages(context.Background()) {
		if err != nil {
			l.why = err
			return
		}
		l.answer(m)
		m.Release()
	}
}

// answer accepts a connection, or refuses it.
func (l *Listener) answer(m *ripc.Message) {
	if !m.IsCall() {
		return
	}
	c := newConn(l.node, l.Addr(), Addr{ID: m.From()})
	err := l.admit(m)
	if err == nil {
		err = c.line.Accept(m)
	}
	if err == nil {
		l.backlog <- c // there is room, and nobody else takes it
		return
	}
	_ = c.line.Refuse(m, err.Error()) // who dials hears of it, or has gone
	c.giveUp()
}

// admit says why a connection cannot be accepted.
func (l *Listener) admit(m *ripc.Message) error {
	if items := m.Items(); len(items) != 2 || string(items[1]) != hello {
		return fmt.Errorf("this is a listener of package stream, and takes nothing but connections (%q): make them by its Dial", hello)
	}
	if len(l.backlog) == cap(l.backlog) {
		return errors.New("too many connections wait to be accepted")
	}
	return nil
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.ended:
	}
	err := l.why
	if errors.Is(err, ripc.ErrClosed) {
		err = net.ErrClosed
	}
	return nil, &net.OpError{Op: "accept", Net: network, Addr: l.Addr(), Err: err}
}

// Close implements net.Listener: it gives the service up, and closes what was not accepted. A second Close does nothing but
// return what the first did.
func (l *Listener) Close() error {
	l.closing.Do(func() {
		l.failed = l.service.Close()
		l.run.Wait()
		l.handle.Closed()
		l.discard()
	})
	return l.failed
}

func (l *Listener) discard() {
	for {
		select {
		case c := <-l.backlog:
			_ = c.Close() // it says nothing
		default:
			return
		}
	}
}

// Addr implements net.Listener: it is the service.
func (l *Listener) Addr() net.Addr { return Addr{ID: l.service.ID(), Name: l.service.Name()} }
