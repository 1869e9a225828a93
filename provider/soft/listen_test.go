package soft

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// TestUnixSockets: the lane runs over a Unix socket, takes the place of one whose owner has died, and leaves none behind.
func TestUnixSockets(t *testing.T) {
	dir := t.TempDir()
	hosts := [2]*host{}
	for i, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name)
		stale, err := net.Listen("unix", path)
		ok(t, err)
		stale.(*net.UnixListener).SetUnlinkOnClose(false)
		ok(t, stale.Close())
		hosts[i] = newHostWith(t, Config{Name: name, Lanes: TCP, Listen: unixScheme + path})
	}
	l := &link{a: hosts[0], b: hosts[1]}
	l.mema, l.memb = l.a.memory(4<<20, driver.RemoteAll), l.b.memory(4<<20, driver.RemoteAll)
	l.qa, l.qb = l.a.pair(), l.b.pair()
	join(l.a, l.qa, l.b, l.qb)
	carryAll(t, l)
	l.a.close()
	l.b.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestIPv6 listens there, if the machine can.
func TestIPv6(t *testing.T) {
	config := Config{Name: t.Name(), Lanes: TCP, Listen: "[::1]:0"}
	probe, err := net.Listen("tcp", config.Listen)
	if err != nil {
		t.Skip(err)
	}
	ok(t, probe.Close())
	carryAll(t, newLinkOn(t, config))
}

func TestListenSaysWhatIsWrong(t *testing.T) {
	h := newHostWith(t, Config{Lanes: TCP})
	path := unixScheme + filepath.Join(t.TempDir(), "s")
	newHostWith(t, Config{Lanes: TCP, Listen: path})
	for listen, want := range map[string]string{
		h.device.dialled:   "choose another port",
		path:               "choose another",
		"127.0.0.1:nobody": "127.0.0.1:nobody",
		"nonsense":         "nonsense",
		"unix:/no/such":    "/no/such",
		"0.0.0.0:0":        "needs TLS, or Plain",
	} {
		d, err := New(Config{Lanes: TCP, Listen: listen})
		if err == nil {
			ok(t, d.Close())
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), listen) {
			t.Errorf("listening on %s: got %v, want it to say %q", listen, err, want)
		}
	}
}

// TestAdvertise: peers dial what is advertised, not where the device listens.
func TestAdvertise(t *testing.T) {
	h := newHostWith(t, Config{Lanes: TCP, Advertise: "host.example:7"})
	if a := string(h.pair().Address()); !strings.HasSuffix(a, "+tcp=host.example:7") {
		t.Errorf("the address is %s", a)
	}
}

// TestDescriptorsRunOut: it is said what to do.
func TestDescriptorsRunOut(t *testing.T) {
	if err := noDescriptor("dial", unix.EMFILE); !strings.Contains(err.Error(), "RLIMIT_NOFILE") {
		t.Errorf("got %v", err)
	}
	if err := noDescriptor("dial", unix.ECONNREFUSED); strings.Contains(err.Error(), "RLIMIT_NOFILE") || !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}

// TestSilentPeersKeepNoLine: calls that nobody answers do not keep others from being made.
func TestSilentPeersKeepNoLine(t *testing.T) {
	config := Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance}
	a, b := newHostWith(t, config), newHostWith(t, config)
	if !(lifeName{device: a.device.identity}).before(lifeName{device: b.device.identity}) {
		a, b = b, a // the smaller name calls
	}
	for range 2 * maxCalls {
		ok(t, a.pair().Connect(1, b.pair().Address()))
	}
	m := &b.device.meetings
	early := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.early)
	}
	for end := time.Now().Add(tolerance); early() < 2*maxCalls; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d calls have come", early(), 2*maxCalls)
		}
	}
	join(a, a.pair(), b, b.pair())
}

// TestListenEverywhere: peers are told one address, which leads there.
func TestListenEverywhere(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		config := Config{Name: t.Name(), Lanes: TCP, Listen: listen, Plain: true}
		l := newLinkOn(t, config)
		if at := l.a.device.dialled; strings.HasPrefix(at, "[::]") || strings.HasPrefix(at, "0.0.0.0") {
			t.Errorf("%s: peers are told %s", listen, at)
		}
	}
	if _, err := New(Config{Lanes: TCP, Advertise: "0.0.0.0:7"}); err == nil || !strings.Contains(err.Error(), "nobody can dial 0.0.0.0:7") {
		t.Error(err)
	}
}
