package stream

import (
	"bytes"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/provider/soft"
)

// carry sends bytes over a connection, and looks whether they have come.
func carry(t testing.TB, from, to *Conn, sent []byte) {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() {
		_, err := from.Write(sent)
		check(t, err)
	})
	got := make([]byte, len(sent))
	_, err := io.ReadFull(to, got)
	check(t, err)
	all.Wait()
	if !bytes.Equal(got, sent) {
		t.Error("other bytes have come")
	}
}

// awaitGround waits until a connection may write to its peer's memory.
func awaitGround(t testing.TB, c *Conn) {
	t.Helper()
	for isThere := false; !isThere; time.Sleep(time.Millisecond) {
		check(t, c.line.Do(func() { _, isThere = c.out.berth() }))
	}
}

// One who has lent once need not be asked any more.
func TestLargeBytesAreWrittenToAGround(t *testing.T) {
	for _, lane := range []soft.Lanes{soft.InProcess, soft.SharedMemory, soft.TCP} {
		t.Run(lane.String(), func(t *testing.T) {
			dir := t.TempDir()
			server, client := newNodeOn(t, dir, lane), newNodeOn(t, dir, lane)
			there, here := connect(t, listen(t, server), client)
			carry(t, there, here, random(bulkMost))
			awaitGround(t, there)
			pulled, filled := counts(t, server).Pulled, counts(t, client).Filled
			sent := random((berths-1)*bulkMost + bulkLeast)
			carry(t, there, here, sent)
			if n := counts(t, server).Pulled - pulled; n != 0 {
				t.Errorf("%d bytes were asked for", n)
			}
			if n := counts(t, client).Filled - filled; n != uint64(len(sent)) {
				t.Errorf("%d of %d bytes were written", n, len(sent))
			}
		})
	}
}

// A ground ends with its time, and the next one who lends much gets another; what was not read by then is read.
func TestAGroundHasItsTime(t *testing.T) {
	defer func(life time.Duration) { groundLife = life }(groundLife)
	groundLife = 400 * time.Millisecond
	dir := t.TempDir()
	there, here := connect(t, listen(t, newNode(t, dir)), newNode(t, dir))
	carry(t, there, here, random(bulkMost))
	awaitGround(t, there)
	late := random(2 * bulkMost)
	_, err := there.Write(late)
	check(t, err)
	for isOver := false; !isOver; time.Sleep(10 * time.Millisecond) {
		check(t, here.line.Do(func() { isOver = here.in.landing == nil }))
	}
	if n := offered.Load(); n != 0 {
		t.Errorf("%d grounds are offered", n)
	}
	got := make([]byte, len(late))
	_, err = io.ReadFull(here, got)
	check(t, err)
	if !bytes.Equal(got, late) {
		t.Error("other bytes have come")
	}
	carry(t, there, here, random(bulkMost))
	awaitGround(t, there)
	carry(t, there, here, random(5*bulkMost))
}

// A process has only so many grounds; who has none lends.
func TestGroundsAreFew(t *testing.T) {
	dir := t.TempDir()
	l, client := listen(t, newNode(t, dir)), newNode(t, dir)
	sent := random(bulkMost)
	for range maxGrounds + 2 {
		there, here := connect(t, l, client)
		carry(t, there, here, sent)
	}
	if n := offered.Load(); n != maxGrounds {
		t.Errorf("%d grounds are offered", n)
	}
	there, here := connect(t, l, client)
	carry(t, there, here, random(5*bulkMost))
}

// A connection that ends gives its ground back, also if its peer had not read, and long before the ground's time is over.
func TestAGroundEndsWithItsConnection(t *testing.T) {
	defer func(life time.Duration) { groundLife = life }(groundLife)
	groundLife = time.Hour
	for name, end := range map[string]func(there, here *Conn) error{
		"the writer closes": func(there, _ *Conn) error { return there.Close() },
		"it writes no more": func(there, _ *Conn) error { return there.CloseWrite() },
		"the reader closes": func(_, here *Conn) error { return here.Close() },
		"both close": func(there, here *Conn) error {
			err := here.Close()
			_ = there.Close()
			return err
		},
		"the reader finds it broken": func(_, here *Conn) error {
			return here.line.Do(func() {
				here.lose(errMalformed)
				here.tell()
			})
		},
		"the writer's process has forgotten it": func(there, here *Conn) error {
			err := there.line.Do(there.line.Drop)
			_, _ = here.Write([]byte("x")) // which is refused
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			there, here := pair(t)
			carry(t, there, here, random(bulkMost))
			awaitGround(t, there)
			_, err := there.Write(random(2 * bulkMost))
			check(t, err)
			check(t, end(there, here))
			for ctx := patient(t); offered.Load() > 0; {
				check(t, pause.For(ctx, time.Millisecond))
			}
		})
	}
}
