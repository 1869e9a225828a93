package oneport

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listen opens a port for a test, where strangers have the usual patience unless it is given.
func listen(t *testing.T, limit int, patience time.Duration) *Port {
	t.Helper()
	p, err := open("127.0.0.1:0", limit, patience)
	check(t, err)
	t.Cleanup(func() { check(t, p.Close()) })
	return p
}

func named(t *testing.T, p *Port, name string) net.Listener {
	t.Helper()
	l, err := p.Listener(name)
	check(t, err)
	return l
}

// dial connects, and says something.
func dial(t *testing.T, p *Port, said string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr().String())
	check(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = c.Write([]byte(said))
	check(t, err)
	return c
}

// isHungUp waits until the other side has closed the connection.
func isHungUp(t *testing.T, c net.Conn) {
	t.Helper()
	check(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, net.ErrClosed) || isTimeout(err) {
		t.Errorf("the stranger reads %d bytes, %v, and should be hung up on", n, err)
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func TestEachGetsWhoMeansIt(t *testing.T) {
	p := listen(t, maxStrangers, patience)
	listeners := map[string]net.Listener{"control": named(t, p, "control"), "data/0123456789abcdef": named(t, p, "data/0123456789abcdef")}
	for name, l := range listeners {
		if l.Addr().String() != p.Addr().String() {
			t.Error(l.Addr(), p.Addr())
		}
		dialled := dial(t, p, string(Preface(name))+"hello "+name)
		check(t, dialled.(*net.TCPConn).CloseWrite())
		c, err := l.Accept()
		check(t, err)
		if _, ok := c.(*net.TCPConn); !ok {
			t.Errorf("it is a %T: who takes the socket out of it needs one of package net", c)
		}
		said, err := io.ReadAll(c)
		if check(t, err); string(said) != "hello "+name {
			t.Errorf("%q", said)
		}
		check(t, c.Close())
	}
}

func TestMany(t *testing.T) {
	p := listen(t, maxStrangers, patience)
	const each = 100
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		l := named(t, p, name)
		all.Go(func() {
			for range each {
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				said, err := io.ReadAll(c)
				if err != nil || string(said) != name {
					t.Errorf("%s hears %q, %v", name, said, err)
				}
				c.Close()
			}
		})
		for range each {
			all.Go(func() {
				c, err := net.Dial("tcp", p.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_, _ = c.Write(append(Preface(name), name...))
			})
		}
	}
	all.Wait()
	if p.mu.Lock(); len(p.strangers) != 0 {
		t.Errorf("%d are taken for strangers still", len(p.strangers))
	}
	p.mu.Unlock()
}

func TestStrangersAreHungUpOn(t *testing.T) {
	p := listen(t, maxStrangers, patience)
	defer named(t, p, "control").Close()
	for _, said := range []string{
		string(Preface("data")),                             // nobody of that name
		"GET / HTTP/1.1\r\nHost: a.b.c.d.e.f.g.h\r\n\r\n",   // another protocol
		"weft/2 control                  ",                  // another version
		"weft/1                          ",                  // no name
		"weft/1  control                 ",                  // a space before it
		"weft/1 control nic              ",                  // a space in it
		"weft/1 control\x00                 ",               // not printable
		string(bytes.Repeat([]byte{0}, prefaceSize)),        //
		string(bytes.Repeat([]byte{0xff}, 100*prefaceSize)), //
	} {
		isHungUp(t, dial(t, p, said))
	}
}

func TestWhoSaysNothingOrTooLittle(t *testing.T) {
	p := listen(t, maxStrangers, time.Millisecond)
	isHungUp(t, dial(t, p, ""))
	isHungUp(t, dial(t, p, "weft/1 "))
}

// The first of too many goes; who came last is heard.
func TestTooManyStrangers(t *testing.T) {
	p := listen(t, 3, time.Hour)
	l := named(t, p, "control")
	silent := dial(t, p, "")
	for range 2 {
		dial(t, p, "weft/1")
	}
	dial(t, p, string(Preface("control")))
	isHungUp(t, silent)
	c, err := l.Accept()
	check(t, err)
	check(t, c.Close())
}

// Strangers leave descriptors to those who are none.
func TestStrangersLeaveDescriptors(t *testing.T) {
	var usual syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual))
	t.Cleanup(func() { check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual)) })
	for files, want := range map[uint64]int{1024: 256, 256: 64, 8192: maxStrangers, 3: 1} {
		if files > usual.Max {
			continue
		}
		check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: usual.Max}))
		if got := strangersAllowed(); got != want {
			t.Errorf("of %d descriptors strangers may have %d, not %d", files, got, want)
		}
	}
	check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: min(256, usual.Max), Max: usual.Max}))
	p, err := Listen("127.0.0.1:0")
	check(t, err)
	if check(t, p.Close()); p.limit != int(min(256, usual.Max)/4) {
		t.Errorf("a port has room for %d strangers", p.limit)
	}
}

func TestNames(t *testing.T) {
	p := listen(t, maxStrangers, patience)
	l := named(t, p, "control")
	if _, err := p.Listener("control"); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	check(t, l.Close())
	check(t, l.Close())
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	isHungUp(t, dial(t, p, string(Preface("control"))))
	check(t, named(t, p, "control").Close())
	check(t, l.Close()) // of who had the name before
	for _, name := range []string{"", "a b", "a\n", "ä", "0123456789012345678901234567890"} {
		if _, err := p.Listener(name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if len(Preface("abcdefghijklmnopqrstuvwxy")) != prefaceSize {
		t.Error("the longest name has another size")
	}
}

// An old listener's second Close leaves the name to who has it now.
func TestAnOldListenerDoesNotTakeTheName(t *testing.T) {
	p := listen(t, maxStrangers, patience)
	old := named(t, p, "control")
	check(t, old.Close())
	l := named(t, p, "control")
	check(t, old.Close())
	dial(t, p, string(Preface("control")))
	c, err := l.Accept()
	check(t, err)
	check(t, c.Close())
}

// waits returns when so many have named a listener, or have not, and nobody has accepted them.
func waits(t *testing.T, p *Port, strangers int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		p.mu.Lock()
		n := len(p.strangers)
		p.mu.Unlock()
		if n == strangers {
			return
		}
	}
	t.Fatalf("there are never %d strangers", strangers)
}

func TestCloseWhileSomeWait(t *testing.T) {
	p := listen(t, maxStrangers, time.Hour)
	control, data := named(t, p, "control"), named(t, p, "data")
	silent, waiting, other := dial(t, p, ""), dial(t, p, string(Preface("control"))), dial(t, p, string(Preface("data")))
	waits(t, p, 3)
	failed := make(chan error, 1)
	check(t, data.Close())
	isHungUp(t, other)
	waits(t, p, 2)
	go func() { _, err := named(t, p, "idle").Accept(); failed <- err }()
	for p.isUnnamed("idle") {
		time.Sleep(time.Millisecond)
	}
	check(t, p.Close())
	check(t, p.Close())
	isHungUp(t, silent)
	isHungUp(t, waiting)
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if c, err := control.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(c, err)
	}
	if _, err := p.Listener("late"); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func (p *Port) isUnnamed(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listeners[name] == nil
}

func TestAnAddressThatIsTaken(t *testing.T) {
	p := listen(t, maxStrangers, patience)
	if again, err := Listen(p.Addr().String()); err == nil {
		t.Error("two have the same port", again.Close())
	}
}

// FuzzPreface: only what Preface makes is accepted.
func FuzzPreface(f *testing.F) {
	f.Add(Preface("control"))
	f.Add(Preface("data/0123456789abcdef"))
	f.Add([]byte("weft/1  x                       "))
	f.Fuzz(func(t *testing.T, said []byte) {
		var b [prefaceSize]byte
		copy(b[:], said)
		if name, ok := parsePreface(b); ok && !bytes.Equal(Preface(name), b[:]) {
			t.Errorf("%q is accepted as %q", b, name)
		}
	})
}
