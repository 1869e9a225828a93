package presence

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// What answers at the port need not be an office.
func TestStrangersAtThePort(t *testing.T) {
	for _, says := range []string{"", "SSH-2.0-OpenSSH_9.2\r\n", mark + "\x02", string(greeting()) + "garbage, then"} {
		l := listenTest(t)
		served := make(chan struct{})
		go func() {
			defer close(served)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(conn, says)
				conn.Close()
			}
		}()
		b := newBell()
		openUsual(t).Watch(NewName(), l.Addr().(*net.TCPAddr).AddrPort(), b.ring)
		b.wait(t)
		l.Close()
		<-served
	}
}

// Who is cut off before the greeting calls again, with all its names.
func TestCutOffCallsAgain(t *testing.T) {
	for _, cut := range []func(*net.TCPConn) error{
		(*net.TCPConn).Close,
		func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }, // a reset
	} {
		l := listenTest(t)
		n, b := NewName(), newBell()
		openUsual(t).Watch(n, l.Addr().(*net.TCPAddr).AddrPort(), b.ring)
		cut(accept(t, l))
		conn := accept(t, l)
		if err := readGreeting(conn); err != nil {
			t.Fatal(err)
		}
		if m, err := readMessage(conn); err != nil || m != (message{subscribe, uint64(n)}) {
			t.Fatalf("asked %+v, %v", m, err)
		}
		if b.rang() {
			t.Error("to be cut off was taken for the end")
		}
		conn.Write(appendMessage(greeting(), message{gone, uint64(n)}))
		b.wait(t)
	}
}

func listenTest(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func accept(t *testing.T, l *net.TCPListener) *net.TCPConn {
	t.Helper()
	l.SetDeadline(time.Now().Add(hangs))
	conn, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(hangs))
	return conn
}
