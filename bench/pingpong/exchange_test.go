package pingpong

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// some is a line as Debian's program sends it.
const some = "0000:000012:3ec38c:00000000000000000000ffff0a090001\x00"

func TestLine(t *testing.T) {
	l, err := parseLine([]byte(some))
	if err != nil || l.lid != 0 || l.pair != 0x12 || l.psn != 0x3ec38c || l.gid != [16]byte{10: 0xff, 11: 0xff, 12: 10, 13: 9, 15: 1} {
		t.Errorf("%+v, %v", l, err)
	}
	if got := string(l.encode()); got != some {
		t.Errorf("%q becomes %q", some, got)
	}
	for _, text := range []string{"", some[:51], some + "x", strings.Replace(some, "3e", "3g", 1), strings.Replace(some, ":", ";", 1),
		strings.Replace(some, "0000:", "00000:", 1)[:51] + "\x00", strings.Replace(some, "0000:0000", "000:00000", 1),
		strings.Replace(some, "ffff0a", "ffff:a", 1), strings.Replace(some, "\x00", "1", 1), strings.Replace(some, "0012", "+012", 1)} {
		if l, err := parseLine([]byte(text)); !errors.Is(err, ErrExchange) {
			t.Errorf("%q is %+v, %v", text, l, err)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(some))
	f.Add([]byte("ffff:ffffff:FFFFFF:fe800000000000000000ffff0a090001\x00"))
	f.Add([]byte("6.06\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseLine(text)
		if err != nil {
			return
		}
		if again := l.encode(); !strings.EqualFold(string(again), string(text)) {
			t.Errorf("%q becomes %q", text, again)
		}
	})
}

// A peer that speaks something else, hangs up or names no GID gets the error that says so.
func TestStrangePeers(t *testing.T) {
	for _, c := range []struct {
		name   string
		client bool
		says   string // what the peer sends
		want   string
	}{
		{"hangs up", false, "", "the peer hung up before it said where its queue pair is"},
		{"hangs up on the client", true, "", "the peer hung up before it said where its queue pair is"},
		{"is perftest", true, "6.06\x00\x00\x00\x00", `does not speak as ibv_rc_pingpong does: it says "6.06`},
		{"is HTTP", false, "GET / HTTP/1.1\r\nHost: 10.9.0.1\r\nUser-Agent: something\r\n\r\n", `it says "GET /`},
		{"has no GID", false, "0000:000012:3ec38c:00000000000000000000000000000000\x00", "start ibv_rc_pingpong with -g INDEX"},
		{"has another family", false, "0000:000012:3ec38c:fe800000000000000000000000000001\x00", "give both an address of one family"},
		{"has another subnet", true, "0000:000000:000001:fd000000000000000000000000000002\x00",
			"the peer's GID is fd00::2, which is reached from fd00::1, and it was told 10.9.0.1: give it another -g"},
		{"does not play", false, "0000:000000:000001:00000000000000000000ffff0a090002\x00done\x00", "no message has come for 50ms: does the peer's GID lead here"},
		{"is not done", false, "0000:000000:000001:00000000000000000000ffff0a090002\x00gone\x00", `its last word is "gone`},
	} {
		t.Run(c.name, func(t *testing.T) {
			pairs := &book{}
			mine, theirs := openNIC(t, pairs, "10.9.0.1/24", "fd00::1/64"), openNIC(t, pairs, "10.9.0.2/24")
			defer openPeer(t, theirs)()
			a, b := connected(t)
			go func() {
				io.WriteString(b, c.says)
				b.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, b)
			}()
			_, err := Game{Client: c.client, Size: 8, Rounds: 1, Silence: 50 * time.Millisecond}.Play(t.Context(), mine, a)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			a.Close()
			b.Close()
		})
	}
}

// openPeer opens a queue pair whose first packet has number 1.
func openPeer(t *testing.T, device *verbs.Device) func() {
	t.Helper()
	_, end, err := Game{Size: 8, Rounds: 1, Silence: generous}.open(device)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := end.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A peer that says nothing is given up when the time of the exchange is over, which ctx can shorten.
func TestMutePeer(t *testing.T) {
	a, _ := connected(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := ask(ctx, a, line{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
