package stream

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/host"
)

// newNarrowNode opens a node that has few receives: three services can hold up others there.
func newNarrowNode(t *testing.T, dir string) *ripc.Node {
	t.Helper()
	resolver, err := host.Open(host.Config{Dir: dir})
	check(t, err)
	n, closeAll, err := openNodeWith(ripc.Config{Resolver: resolver, MaxSlots: 64}, soft.InProcess)
	check(t, err)
	t.Cleanup(func() { check(t, closeAll()) })
	return n
}

// starve sends more to three services than those take before somebody receives it. The link to a narrow node has no room for anything else
// then: at most two of them are kept from using it up. The function that it returns receives.
func starve(t *testing.T, from, to *ripc.Node) (relieve func()) {
	const messages = 200
	var all sync.WaitGroup
	var sent atomic.Int64
	var services []*ripc.Service
	for _, name := range []string{"slow", "slower", "slowest"} {
		s, err := to.Register(patient(t), name)
		check(t, err)
		t.Cleanup(func() { check(t, s.Close()) })
		services = append(services, s)
		for range messages {
			all.Go(func() {
				check(t, from.Send(patient(t), s.ID(), []byte("x")))
				sent.Add(1)
			})
		}
	}
	for known, waiting := 0, 0; known < len(services)*messages || waiting == 0; time.Sleep(time.Millisecond) {
		known = int(sent.Load()) // first: what waits may be sent meanwhile
		stats, err := from.Stats()
		check(t, err)
		waiting = stats.Waiting
		known += waiting
	}
	return func() {
		for _, s := range services {
			all.Go(func() { receive(t, s, messages) })
		}
		all.Wait()
	}
}

// receive receives so many messages.
func receive(t *testing.T, s *ripc.Service, n int) {
	for range n {
		m, err := s.Receive(patient(t))
		check(t, err)
		m.Release()
	}
}

// Services that receive nothing hold up no connection with their process.
func TestSlowServicesHoldUpNoConnection(t *testing.T) {
	dir := t.TempDir()
	server, client := newNode(t, dir), newNode(t, dir)
	there, here := connect(t, listen(t, server), client)
	relieve := starve(t, client, server)
	carry(t, there, here, random(4*window))
	carry(t, here, there, random(4*window))
	relieve()
}

// A piece that had to wait for longer than its ground is there is not written to it: that would break the link.
func TestAPieceThatIsLateIsLent(t *testing.T) {
	dir := t.TempDir()
	server, client := newNarrowNode(t, dir), newNode(t, dir)
	there, here := connect(t, listen(t, server), client)
	carry(t, there, here, random(bulkMost))
	awaitGround(t, there)
	filled := counts(t, client).Filled
	relieve := starve(t, client, server)
	until := clock.Real.Now().Add(time.Second)
	check(t, there.line.Do(func() { there.out.ground.until = until }))
	late := random(2 * bulkMost)
	_, err := there.Write(late)
	check(t, err)
	check(t, there.line.Do(func() {
		if there.out.landed != 2 {
			t.Errorf("%d pieces were to be written to the ground", there.out.landed)
		}
	}))
	for clock.Real.Now() < until {
		time.Sleep(10 * time.Millisecond)
	}
	relieve()
	_, err = io.ReadFull(here, late)
	check(t, err)
	if string(late) != string(random(2*bulkMost)) {
		t.Error("other bytes have come")
	}
	if n := counts(t, client).Filled - filled; n != 0 {
		t.Errorf("%d bytes were written", n)
	}
	check(t, there.line.Do(func() {
		if g := there.out.ground; there.out.landed != 0 || !g.ledger.used.Empty() || g.ledger.busy != [berths]bool{} {
			t.Errorf("%d pieces have landed, %+v", there.out.landed, g.ledger)
		}
		there.out.ground.until = until.Add(time.Hour)
	}))
	carry(t, there, here, random(2*window))
}

// What a frame says of the window is not forgotten when the frame is taken back: both ends would wait for ever.
func TestAWriteThatIsGivenUpStopsNobody(t *testing.T) {
	dir := t.TempDir()
	server, client := newNarrowNode(t, dir), newNode(t, dir)
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
