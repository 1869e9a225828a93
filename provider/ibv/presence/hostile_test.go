package presence

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// serves checks that an office still does its work.
func serves(t *testing.T, server *Office) {
	t.Helper()
	client, n, b := openUsual(t), NewName(), newBell()
	server.Register(n)
	client.Watch(n, server.at(), b.ring)
	until(t, "watched", func() bool { return server.watchers(n) == 1 || b.rang() })
	if b.rang() {
		t.Fatal("an honest peer was cut off")
	}
	server.End(n)
	b.wait(t)
}

// isCut waits until the office hangs up, and returns how much it said before.
func isCut(t *testing.T, conn net.Conn) int64 {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(hangs))
	n, err := io.Copy(io.Discard, conn)
	if isTimeout(err) {
		t.Fatal("it was not cut off")
	}
	return n
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

func TestGarbageIsCut(t *testing.T) {
	server := openUsual(t)
	for _, garbage := range []string{
		"GET / HTTP/1.1\r\n\r\n",
		mark + "\xff",
		string(greeting()) + "not a message",
		string(appendMessage(greeting(), message{gone, 1})),
		string(appendMessage(greeting(), message{heard, 1})),
	} {
		conn := call(t, server)
		conn.Write([]byte(garbage))
		isCut(t, conn)
	}
	serves(t, server)
	until(t, "all left", func() bool { return server.visitors() == 0 })
}

// Who watches nothing leaves when there are too many; who watches something stays.
func TestSilentVisitorsMakeRoom(t *testing.T) {
	server := openTest(t, limits{visitors: 4, names: 10, pause: time.Millisecond}, io.Discard)
	client, n, b := openUsual(t), NewName(), newBell()
	server.Register(n)
	client.Watch(n, server.at(), b.ring)
	until(t, "watched", func() bool { return server.watchers(n) == 1 })
	var first net.Conn
	for i := range 20 {
		conn := call(t, server)
		if i%2 == 0 {
			conn.Write(greeting())
		}
		if first == nil {
			first = conn
		}
	}
	if isCut(t, first) > 0 {
		t.Error("who was shown out had been greeted, and takes us for dead")
	}
	serves(t, server)
	if b.rang() {
		t.Error("an honest peer had to leave for a silent one")
	}
	if n := server.visitors(); n > 4 {
		t.Errorf("%d visitors on 4 seats", n)
	}
}

// When all seats are taken by peers that watch something, the next one waits and is not told anything wrong.
func TestFullOfficeLetsWait(t *testing.T) {
	var log journal
	server := openTest(t, limits{visitors: 2, names: 10, pause: time.Millisecond}, &log)
	n := NewName()
	server.Register(n)
	var watches []*Watch
	bells := []bell{newBell(), newBell(), newBell()}
	for i, b := range bells {
		watches = append(watches, openUsual(t).Watch(n, server.at(), b.ring))
		until(t, "seated", func() bool { return server.watchers(n) == min(i+1, 2) })
	}
	until(t, "it is logged", func() bool { return strings.Contains(log.String(), "too many peers") })
	if bells[2].rang() {
		t.Fatal("who waits was told that its peer is gone")
	}
	watches[0].Stop()
	until(t, "the third is seated", func() bool { return server.visitors() == 2 && server.watchers(n) == 2 })
	server.End(n)
	bells[1].wait(t)
	bells[2].wait(t)
}

// Who asks without reading the answers is cut off.
func TestFloodIsCut(t *testing.T) {
	server := openUsual(t)
	conn := call(t, server)
	conn.SetDeadline(time.Now().Add(hangs))
	flood := greeting()
	for range 100 * window {
		flood = appendMessage(flood, message{subscribe, uint64(NewName())})
	}
	if _, err := conn.Write(flood); isTimeout(err) {
		t.Fatal("the office neither reads nor hangs up")
	}
	isCut(t, conn)
	serves(t, server)
}

func TestTooManyNamesAreCut(t *testing.T) {
	server := openTest(t, limits{visitors: 4, names: 10, pause: time.Millisecond}, io.Discard)
	ask := greeting()
	for range 11 {
		n := NewName()
		server.Register(n)
		ask = appendMessage(ask, message{subscribe, uint64(n)})
	}
	conn := call(t, server)
	conn.Write(ask)
	isCut(t, conn)
	serves(t, server)
}

// An honest visitor that stands still is owed an answer for each name it knew, and gets them all in the end.
func TestUnreadAnswersAreKept(t *testing.T) {
	const many = 20 * window
	server := openUsual(t)
	conn := call(t, server)
	conn.SetDeadline(time.Now().Add(hangs))
	conn.Write(greeting())
	names := make([]Name, many)
	for i := range names {
		names[i] = NewName()
		server.Register(names[i])
		conn.Write(appendMessage(nil, message{subscribe, uint64(names[i])}))
		if i == 0 {
			if err := readGreeting(conn); err != nil {
				t.Fatal(err)
			}
		}
		if i%window == window-1 {
			hearAnswers(t, conn, here, window)
		}
	}
	for _, n := range names {
		server.End(n)
	}
	hearAnswers(t, conn, gone, many)
}

// hearAnswers reads so many answers, all of a kind, and says that they were heard.
func hearAnswers(t *testing.T, conn net.Conn, want kind, count int) {
	t.Helper()
	for got := 0; got < count; {
		m, err := readMessage(conn)
		if err != nil || m.kind != want && m.kind != heard {
			t.Fatalf("after %d: %+v, %v", got, m, err)
		}
		if m.kind == heard {
			continue
		}
		if got++; got%window == 0 {
			conn.Write(appendMessage(nil, message{heard, window}))
		}
	}
}
