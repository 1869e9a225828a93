package stream

import (
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc"
)

// starve sends as much to a service as the other process takes before somebody receives it: the link has no room for anything else.
// The function that it returns receives.
func starve(t *testing.T, from, to *ripc.Node) (relieve func()) {
	const linkWindow = 64
	s, err := to.Register(patient(t), "slow")
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	for range linkWindow {
		check(t, from.Send(patient(t), ripc.Name("slow"), []byte("x")))
	}
	return func() {
		for range linkWindow {
			m, err := s.Receive(patient(t))
			check(t, err)
			m.Release()
		}
	}
}

// What a frame says of the window is not forgotten when the frame is taken back: both ends would wait for ever.
func TestAWriteThatIsGivenUpStopsNobody(t *testing.T) {
	dir := t.TempDir()
	server, client := newNode(t, dir), newNode(t, dir)
	there, here := connect(t, listen(t, server), client)
	relieve := starve(t, client, server)
	const pieces = 8 // of less than what is worth to be told alone
	piece := random(window / pieces)
	for range pieces {
		_, err := here.Write(piece)
		check(t, err)
	}
	for range pieces {
		_, err := io.ReadFull(there, make([]byte, len(piece)))
		check(t, err)
		check(t, there.SetWriteDeadline(time.Now().Add(time.Millisecond)))
		if _, err := there.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("write: %v", err)
		}
	}
	relieve()
	soon := time.Now().Add(20 * time.Second) // they would wait for ever
	check(t, here.SetWriteDeadline(soon))
	check(t, there.SetReadDeadline(soon))
	var all sync.WaitGroup
	all.Go(func() {
		_, err := here.Write(piece)
		check(t, err)
	})
	_, err := io.ReadFull(there, make([]byte, len(piece)))
	check(t, err)
	all.Wait()
}
