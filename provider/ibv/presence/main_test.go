package presence

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

// hangs is when a test gives up. It says nothing about how fast something is.
const hangs = time.Minute

func TestMain(m *testing.M) {
	if run := children[os.Getenv(childVar)]; run != nil {
		run()
		return
	}
	leaktest.Main(m)
}

// openTest opens an office on loopback that the test closes.
func openTest(t *testing.T, with limits, log io.Writer) *Office {
	t.Helper()
	o, err := open(Config{Listen: "127.0.0.1:0", KeepAlive: time.Second,
		Log: slog.New(slog.NewTextHandler(log, nil))}, with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func openUsual(t *testing.T) *Office { return openTest(t, usual, io.Discard) }

func (o *Office) at() netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), o.Port())
}

// bell is a gone that can be waited for.
type bell chan struct{}

func newBell() bell { return make(bell) }

// ring panics when Gone is told twice.
func (b bell) ring(w Word) {
	if w == Gone {
		close(b)
	}
}

// onGone is who waits for the end only.
func onGone(f func()) func(Word) {
	return func(w Word) {
		if w == Gone {
			f()
		}
	}
}

func (b bell) rang() bool {
	select {
	case <-b:
		return true
	default:
		return false
	}
}

func (b bell) wait(t *testing.T) {
	t.Helper()
	select {
	case <-b:
	case <-time.After(hangs):
		t.Fatal("nobody was told that the peer is gone")
	}
}

// until waits for something that no channel tells.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(hangs); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// watchers counts who watches a name at an office.
func (o *Office) watchers(n Name) int {
	o.desk.mu.Lock()
	defer o.desk.mu.Unlock()
	return len(o.desk.known[n])
}

func (o *Office) visitors() int {
	o.desk.mu.Lock()
	defer o.desk.mu.Unlock()
	return len(o.desk.visitors)
}

func (o *Office) openLines() int {
	o.lines.mu.Lock()
	defer o.lines.mu.Unlock()
	return len(o.lines.open)
}

// call dials an office by hand.
func call(t *testing.T, o *Office) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", o.at().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text []byte
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text = append(j.text, b...)
	return len(b), nil
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return string(j.text)
}
