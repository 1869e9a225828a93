package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/link"
)

// random is so many bytes that are unlike each other.
func random(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(b)
	return b
}

func TestBytesArriveOnceAndInOrderInBothDirections(t *testing.T) {
	for _, lane := range []soft.Lanes{soft.InProcess, soft.SharedMemory, soft.TCP} {
		t.Run(lane.String(), func(t *testing.T) {
			dir := t.TempDir()
			there, here := connect(t, listen(t, newNodeOn(t, dir, lane)), newNodeOn(t, dir, lane))
			talk(t, there, here, random(5<<20))
		})
	}
}

// talk sends bytes in both directions at a time, in pieces of many sizes.
func talk(t *testing.T, there, here *Conn, sent []byte) {
	var all sync.WaitGroup
	for _, way := range [][2]*Conn{{there, here}, {here, there}} {
		all.Go(func() {
			for rest, n := sent, 1; len(rest) > 0; n = n*3%1_000_003 + 1 {
				some, err := way[0].Write(rest[:min(n, len(rest))])
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				rest = rest[some:]
			}
			if err := way[0].CloseWrite(); err != nil {
				t.Errorf("close for writing: %v", err)
			}
		})
		all.Go(func() {
			got, err := io.ReadAll(way[1])
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d of %d bytes, as they were: %v; %v", len(got), len(sent), bytes.Equal(got, sent), err)
			}
		})
	}
	all.Wait()
}

func TestOneDirectionIsClosedAlone(t *testing.T) {
	there, here := pair(t)
	_, err := there.Write([]byte("question"))
	check(t, err)
	check(t, there.CloseWrite())
	if got, err := io.ReadAll(here); err != nil || string(got) != "question" {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := there.Write([]byte("more")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a write behind the end: %v", err)
	}
	if err := there.CloseWrite(); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a second end: %v", err)
	}
	_, err = here.Write([]byte("answer"))
	check(t, err)
	check(t, here.Close())
	if got, err := io.ReadAll(there); err != nil || string(got) != "answer" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := there.Write([]byte("more")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a write to who has left: %v", err)
	}
}

// What was written before Close is read, although the process ends at once.
func TestCloseLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	l := listen(t, newNode(t, dir))
	from := newNode(t, dir)
	there, here := connect(t, l, from)
	sent := random(window)
	_, err := there.Write(sent)
	check(t, err)
	check(t, there.Close())
	check(t, from.Close())
	if got, err := io.ReadAll(here); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
	}
}

func TestCloseEndsWhoReadsAndWrites(t *testing.T) {
	there, here := pair(t)
	var all sync.WaitGroup
	written := 0
	all.Go(func() {
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read: %v", err)
		}
	})
	all.Go(func() {
		var err error
		if written, err = there.Write(make([]byte, 2*window)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write: %d bytes, %v", written, err)
		}
	})
	_, err := io.ReadFull(here, make([]byte, 1)) // so it has begun
	check(t, err)
	check(t, there.Close())
	check(t, there.Close())
	all.Wait()
	if n, err := io.Copy(io.Discard, here); err != nil || n+1 != int64(written) {
		t.Errorf("the other end has read %d of %d bytes, %v", n+1, written, err)
	}
	if err := there.CloseWrite(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("close for writing: %v", err)
	}
}

// A connection that both have closed leaves nothing behind, whoever was first.
func TestBothEndsForgetAConnection(t *testing.T) {
	for _, second := range []func(*Conn) error{(*Conn).CloseWrite, (*Conn).Close} {
		there, here := pair(t)
		check(t, second(here))
		check(t, there.Close())
		check(t, here.Close())
		for _, c := range []*Conn{there, here} {
			for isKnown := true; isKnown; runtime.Gosched() {
				check(t, c.line.Do(func() { isKnown = c.line.IsReady() }))
			}
		}
	}
}

func TestTheEndOfAProcessBreaksItsConnections(t *testing.T) {
	dir := t.TempDir()
	server := newNode(t, dir)
	l := listen(t, server)
	there, _ := connect(t, l, newNode(t, dir))
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
	})
	all.Go(func() {
		if _, err := there.Write(make([]byte, 2*window)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("write: %v", err)
		}
	})
	check(t, server.Close())
	all.Wait()
	if _, err := Dial(patient(t), server, "there"); !errors.Is(err, ripc.ErrClosed) {
		t.Errorf("dial from a node that is closed: %v", err)
	}
}

func TestTheEndOfTheOwnNodeEndsItsConnections(t *testing.T) {
	dir := t.TempDir()
	l := listen(t, newNode(t, dir))
	client := newNode(t, dir)
	there, here := connect(t, l, client)
	check(t, client.Close())
	if _, err := there.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read at the other end: %v", err)
	}
}

// full waits until everything was sent that the peer has room for.
func full(t testing.TB, c *Conn) {
	for isFull := false; !isFull; runtime.Gosched() {
		check(t, c.line.Do(func() { isFull = c.out.sent == c.out.allowed }))
	}
}

// Many connections that nobody reads, each with all that it can be sent, leave the way free.
func TestAConnectionThatIsNotReadHoldsUpNobody(t *testing.T) {
	dir := t.TempDir()
	l, client := listen(t, newNode(t, dir)), newNode(t, dir)
	var all sync.WaitGroup
	var writers, readers []*Conn
	for range 20 {
		there, here := connect(t, l, client)
		writers, readers = append(writers, there), append(readers, here)
		all.Go(func() {
			if n, err := there.Write(make([]byte, window+1)); n != window || !errors.Is(err, net.ErrClosed) {
				t.Errorf("%d bytes were taken, %v", n, err)
			}
		})
		full(t, there)
	}
	there, here := connect(t, l, client)
	for i := range 1000 {
		want := []byte{byte(i)}
		_, err := there.Write(want)
		check(t, err)
		got := make([]byte, 1)
		_, err = io.ReadFull(here, got)
		check(t, err)
		if got[0] != want[0] {
			t.Fatalf("%d instead of %d", got, want)
		}
	}
	for i := range writers {
		check(t, writers[i].Close())
	}
	all.Wait()
	for _, c := range readers {
		if n, err := io.Copy(io.Discard, c); n != window || err != nil {
			t.Errorf("%d bytes have come, %v", n, err)
		}
	}
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	n := newNode(t, t.TempDir())
	_, err := Dial(patient(t), n, "nobody")
	var problem *net.OpError
	if !errors.Is(err, ripc.ErrNoService) || !errors.As(err, &problem) || problem.Op != "dial" || problem.Addr.String() != "nobody" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Dial(ctx, n, "nobody"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := (Dialer{Node: n}).Dial(patient(t), "nobody"); !errors.Is(err, ripc.ErrNoService) {
		t.Errorf("%v", err)
	}
}

func TestAddressesAreServices(t *testing.T) {
	there, here := pair(t)
	if there.RemoteAddr().String() != "there" || here.LocalAddr().String() != "there" || there.RemoteAddr().Network() != "ripc" {
		t.Errorf("%v and %v", there.RemoteAddr(), here.LocalAddr())
	}
	if there.LocalAddr() != here.RemoteAddr() {
		t.Errorf("%v and %v", there.LocalAddr(), here.RemoteAddr())
	}
}

// What is large is read from where it was put, and what is small is copied once.
func TestLargeBytesAreLent(t *testing.T) {
	dir := t.TempDir()
	server, client := newNode(t, dir), newNode(t, dir)
	there, here := connect(t, listen(t, server), client)
	sent := random(3*bulkMost + bulkLeast + 100)
	for name, send := range map[string]func() error{
		"written": func() error { _, err := there.Write(sent); return err },
		"copied":  func() error { _, err := io.Copy(there, struct{ io.Reader }{bytes.NewReader(sent)}); return err },
	} {
		before, moved := counts(t, client), counts(t, server).Pulled+counts(t, client).Filled
		var all sync.WaitGroup
		all.Go(func() { check(t, send()) })
		got := make([]byte, len(sent))
		_, err := io.ReadFull(here, got)
		check(t, err)
		all.Wait()
		if !bytes.Equal(got, sent) {
			t.Errorf("%s: other bytes have come", name)
		}
		if n := counts(t, server).Pulled + counts(t, client).Filled - moved; n != uint64(len(sent)) {
			t.Errorf("%s: %d of %d bytes were lent, or written to the reader's memory", name, n, len(sent))
		}
		if n := counts(t, client).Copied - before.Copied; n > 100*headSize {
			t.Errorf("%s: %d bytes were copied to be sent", name, n)
		}
	}
}

func counts(t testing.TB, n *ripc.Node) link.Counts {
	c, err := n.Counts()
	check(t, err)
	return c
}

func TestSmallTalkAllocatesNothing(t *testing.T) {
	there, here := pair(t)
	b := make([]byte, 64)
	allocations := testing.AllocsPerRun(1000, func() {
		for _, way := range [][2]*Conn{{there, here}, {here, there}} {
			_, err := way[0].Write(b)
			check(t, err)
			_, err = io.ReadFull(way[1], b)
			check(t, err)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations for a word there and back", allocations)
	}
}

// Whoever writes what he is still being sent, as a proxy does, sends what he has.
func TestReadFromSendsWhatThereIs(t *testing.T) {
	there, here := pair(t)
	in, out := io.Pipe()
	failed := errors.New("the source has dried up")
	var all sync.WaitGroup
	all.Go(func() {
		if n, err := there.ReadFrom(in); n != 5 || !errors.Is(err, failed) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	_, err := out.Write([]byte("hello"))
	check(t, err)
	got := make([]byte, 5)
	_, err = io.ReadFull(here, got)
	check(t, err)
	check(t, out.CloseWithError(failed))
	all.Wait()
}
