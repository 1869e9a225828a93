package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc"
)

func TestCloseOfAListenerEndsAcceptAndWhatWasNotAccepted(t *testing.T) {
	dir := t.TempDir()
	l := listen(t, newNode(t, dir))
	c, err := Dial(patient(t), newNode(t, dir), "there")
	check(t, err)
	defer func() { check(t, c.Close()) }()
	check(t, l.Close())
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a connection that was not accepted: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
	check(t, l.Close())
}

func TestTooManyConnectionsThatWaitAreRefused(t *testing.T) {
	n := newNode(t, t.TempDir())
	l := listen(t, n)
	for range maxBacklog {
		c, err := Dial(patient(t), n, "there")
		check(t, err)
		defer func() { check(t, c.Close()) }()
	}
	if _, err := Dial(patient(t), n, "there"); !errors.Is(err, ripc.ErrFailed) {
		t.Errorf("one more: %v", err)
	}
	first, err := l.Accept()
	check(t, err)
	defer func() { check(t, first.Close()) }()
	c, err := Dial(patient(t), n, "there")
	check(t, err)
	check(t, c.Close())
}

func TestAListenerWantsToBeDialled(t *testing.T) {
	n := newNode(t, t.TempDir())
	l := listen(t, n)
	for _, items := range [][][]byte{nil, {[]byte("hello")}, {make([]byte, len(ripc.ID{})), []byte(hello)}, {make([]byte, len(ripc.ID{})), {2}}, {nil, nil, nil}} {
		m, err := n.Call(patient(t), ripc.Name("there"), items...)
		if !errors.Is(err, ripc.ErrFailed) {
			t.Errorf("%q: %v", items, err)
		}
		if m != nil {
			m.Release()
		}
	}
	b, err := n.Alloc(100)
	check(t, err)
	defer b.Release()
	if err := n.Post(patient(t), ripc.Request{To: ripc.Name("there"), Lend: []*ripc.Buffer{b}}); !errors.Is(err, ripc.ErrRefused) {
		t.Errorf("a message that is no call: %v", err)
	}
	connect(t, l, n) // it goes on
}

// Who gives up while the service takes its time leaves nothing behind: the service hears it when it answers.
func TestDialIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	server, client := newNode(t, dir), newNode(t, dir)
	s, err := server.Register(patient(t), "slow")
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if _, err := Dial(ctx, client, "slow"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	m, err := s.Receive(patient(t))
	check(t, err)
	cancel()
	done.Wait()
	c := newConn(server, Addr{}, Addr{})
	check(t, c.line.Accept(m))
	m.Release()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection of who has given up: %v", err)
	}
	check(t, c.Close())
	check(t, s.Close())
}

// Who is not answered in time hears by whom.
func TestDialSaysWhoDidNotAnswer(t *testing.T) {
	dir := t.TempDir()
	server, client := newNode(t, dir), newNode(t, dir)
	s, err := server.Register(patient(t), "slow")
	check(t, err)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	_, err = Dial(ctx, client, "slow")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "slow did not answer in time") {
		t.Errorf("%v", err)
	}
	check(t, s.Close())
}
