package stream

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/ripc"
)

// bystanders are a call and a connection between two nodes, over the one link that everything else there takes, too.
type bystanders struct {
	there, here *Conn
	held        *ripc.Message // the call, without an answer
	call        chan error
}

func newBystanders(t *testing.T, server, client *ripc.Node) *bystanders {
	t.Helper()
	b := &bystanders{call: make(chan error, 1)}
	b.there, b.here = connect(t, listen(t, server), client)
	s, err := server.Register(patient(t), "slow")
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	go func() {
		answer, err := client.Call(patient(t), s.ID())
		if err == nil {
			answer.Release()
		}
		b.call <- err
	}()
	b.held, err = s.Receive(patient(t))
	check(t, err)
	return b
}

// areWell checks that the call is answered, and that bytes travel on the connection.
func (b *bystanders) areWell(t *testing.T) {
	t.Helper()
	check(t, b.held.Answer(patient(t)))
	b.held.Release()
	check(t, <-b.call)
	_, err := b.there.Write([]byte("x"))
	check(t, err)
	_, err = io.ReadFull(b.here, make([]byte, 1))
	check(t, err)
}

// serveCalls has a service answer calls until the test ends.
func serveCalls(t *testing.T, n *ripc.Node, name string, handle ripc.Handler) {
	t.Helper()
	s, err := n.Register(patient(t), name)
	check(t, err)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(context.Background(), 1, handle) }) // it ends with the service
	t.Cleanup(func() {
		check(t, s.Close())
		serving.Wait()
	})
}

// What takes calls, and knows nothing of connections, is none, whatever it answers: the hello itself, for one.
func TestAServiceThatAnswersCallsIsNoListener(t *testing.T) {
	dir := t.TempDir()
	server, client := newNode(t, dir), newNode(t, dir)
	b := newBystanders(t, server, client)
	for name, answer := range map[string]func(items [][]byte) [][]byte{
		"echo":    func(items [][]byte) [][]byte { return items },
		"first":   func(items [][]byte) [][]byte { return items[:1] },
		"turned":  func(items [][]byte) [][]byte { return [][]byte{items[1], items[0]} },
		"nothing": func([][]byte) [][]byte { return nil },
	} {
		serveCalls(t, server, name, func(ctx context.Context, m *ripc.Message) error { return m.Answer(ctx, answer(m.Items())...) })
		_, err := Dial(patient(t), client, name)
		if !errors.Is(err, ripc.ErrNoLine) || !strings.Contains(err.Error(), name+" is no listener of package stream") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.areWell(t)
}

// lostConn makes a connection whose other end was accepted, and is not there any more: as if its process had forgotten it.
func lostConn(t *testing.T, server, client *ripc.Node, name string) *Conn {
	t.Helper()
	s := &stranger{}
	s.line = server.NewLine(s)
	serveCalls(t, server, name, func(_ context.Context, m *ripc.Message) error { return s.line.Accept(m) })
	c, err := Dial(patient(t), client, name)
	check(t, err)
	check(t, s.line.Do(s.line.Drop))
	return c
}

// Frames that reach nobody break the connection that they belong to, and no other: not the link, which others use.
func TestFramesToNobodyBreakOneConnection(t *testing.T) {
	dir := t.TempDir()
	server, client := newNode(t, dir), newNode(t, dir)
	b := newBystanders(t, server, client)
	for name, size := range map[string]int{"short": 1, "long": bulkLeast} {
		c := lostConn(t, server, client, name)
		_, err := c.Write(make([]byte, size))
		check(t, err)
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) || !errors.Is(err, ripc.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		check(t, c.Close())
	}
	b.areWell(t)
}
