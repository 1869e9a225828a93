package main

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push"
)

// listener reads what passes on the loopback device.
type listener struct {
	socket  int
	secret  []byte
	stop    chan struct{}
	reading sync.WaitGroup
	heard   bool // the secret
}

// listenFor looks for some bytes in all that passes, until ended is called.
func listenFor(t *testing.T, secret string) *listener {
	t.Helper()
	l := &listener{secret: []byte(secret), stop: make(chan struct{})}
	const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in the order of the network
	device, err := net.InterfaceByName("lo")
	if err == nil {
		l.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	}
	if err != nil {
		lacking(t, err)
	}
	patience := unix.NsecToTimeval(int64(100 * time.Millisecond))
	if err := unix.SetsockoptTimeval(l.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(l.socket, &unix.SockaddrLinklayer{Protocol: all, Ifindex: device.Index}); err != nil {
		t.Fatal(err)
	}
	l.reading.Go(l.runReads)
	return l
}

// runReads reads until ended is called.
func (l *listener) runReads() {
	packet := make([]byte, 128<<10)
	for {
		n, _, _ := unix.Recvfrom(l.socket, packet, 0) // nothing for a moment is no error
		l.heard = l.heard || n > 0 && bytes.Contains(packet[:n], l.secret)
		select {
		case <-l.stop:
			return
		default:
		}
	}
}

// ended reports whether the secret has passed.
func (l *listener) ended() bool {
	close(l.stop)
	l.reading.Wait()
	_ = unix.Close(l.socket) // it was only read
	return l.heard
}

// The plan says what is encrypted, and so it is.
func TestPushSaysWhatIsEncrypted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 30)
	const secret = "the secret of TestPushSaysWhatIsEncrypted. "
	put(t, filepath.Join(f.source, "secrets"), strings.Repeat(secret, 50_000))
	for _, c := range []struct {
		flags, says string
		heard       bool
	}{
		{"--provider=tcp", "data and control are encrypted", false},
		{"--provider=tcp --plain", "data is not encrypted (--plain); control is", true},
		{"--provider=shm", "data over TCP and control are encrypted; data between processes of one host goes through shared memory and is not", false},
		{"--provider=shm --plain", "data is not encrypted, neither in shared memory nor over TCP (--plain); control is", false},
	} {
		l := listenFor(t, secret)
		status, said := f.plainly(append(f.pushLine(), strings.Fields(c.flags)...)...)
		heard := l.ended()
		if said = strings.Join(strings.Fields(said), " "); status != push.ExitOK || !strings.Contains(said, "encrypted "+c.says+" ") {
			t.Errorf("%s: status %d: %s", c.flags, status, said)
		}
		if heard != c.heard {
			t.Errorf("%s: the secret was heard: %v", c.flags, heard)
		}
		for _, a := range f.agents {
			a.forget(t)
		}
	}
}
