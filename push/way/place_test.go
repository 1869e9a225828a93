package way

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/oneport"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/verbs"
)

func TestWhatOthersDial(t *testing.T) {
	k := ring(t, newAuthority(t, "c"), "host1", control.RoleAgent, "agent/host1")
	for advertise, want := range map[string]string{
		"":               "127.0.0.1:PORT",
		"127.0.0.1":      "127.0.0.1:PORT",
		"host1":          "host1:PORT",
		"host1:99":       "host1:99",
		"fd00::1":        "[fd00::1]:PORT",
		"[fd00::1]:7470": "[fd00::1]:7470",
	} {
		p := open(t, Config{Listen: "127.0.0.1:0", Advertise: advertise, Keys: k})
		_, port, _ := net.SplitHostPort(p.port.Addr().String())
		if want = strings.ReplaceAll(want, "PORT", port); p.Address() != want {
			t.Errorf("advertise %q: others dial %q, want %q", advertise, p.Address(), want)
		}
		check(t, p.Close())
	}
	for _, advertise := range []string{"0.0.0.0", "::", ":99", "0.0.0.0:99"} {
		if _, err := Open(Config{Advertise: advertise, Keys: k}); !errors.Is(err, ErrArgument) {
			t.Errorf("advertise %q: %v", advertise, err)
		}
	}
	if _, err := Open(Config{}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
}

// An agent that listens at all addresses of its host, and a pusher that others cannot dial.
func TestAnAgentThatAdvertises(t *testing.T) {
	a := newAuthority(t, "c")
	agent := serve(t, open(t, Config{Listen: "0.0.0.0:0", Advertise: "127.0.0.1", Keys: ring(t, a, "host1", control.RoleAgent, "agent/host1")}), "host1")
	pusher := newPusher(t, ring(t, a, "me", control.RolePusher), map[string]string{"host1": agent.Address()})
	_, err := call(t, pusher, "host1")
	check(t, err)
}

func TestDevicesThatCannotBe(t *testing.T) {
	k := ring(t, newAuthority(t, "c"), "host1", control.RoleAgent)
	p := open(t, Config{Keys: k, NoShared: true})
	if got := strings.Join(p.Ways(), " "); got != "tcp" {
		t.Errorf("its ways are %s", got)
	}
	for _, way := range []string{SHM, IBV, "pigeon", ""} {
		if _, err := p.Device(manifest.ID{1}, way, false, 0); !errors.Is(err, ErrNoWay) {
			t.Errorf("%q: %v", way, err)
		}
	}
}

// Hardware that cannot be opened is none, and who asks for it hears why.
func TestHardwareIsTried(t *testing.T) {
	k := ring(t, newAuthority(t, "c"), "host1", control.RoleAgent)
	works := func(string) (*verbs.Device, error) {
		nic, err := soft.New(soft.Config{Lanes: soft.InProcess})
		check(t, err)
		return verbs.Open(nic)
	}
	p := open(t, Config{Keys: k, Hardware: works})
	if got := strings.Join(p.Ways(), " "); got != "ibv shm tcp" {
		t.Errorf("its ways are %s", got)
	}
	if _, err := p.Device(manifest.ID{1}, IBV, false, 1); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	d, err := p.Device(manifest.ID{1}, IBV, false, 0)
	check(t, err)
	check(t, d.Close())

	p = open(t, Config{Keys: k, Hardware: func(string) (*verbs.Device, error) { return nil, errors.ErrUnsupported }})
	if got := strings.Join(p.Ways(), " "); got != "shm tcp" {
		t.Errorf("its ways are %s", got)
	}
	if _, err := p.Device(manifest.ID{1}, IBV, false, 0); !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, ErrNoWay) {
		t.Error(err)
	}
}

// A push has one device at a time; other pushes have theirs; and a device that outlives the place can be closed.
func TestDevicesOfPushes(t *testing.T) {
	p := open(t, Config{Keys: ring(t, newAuthority(t, "c"), "host1", control.RoleAgent)})
	first, err := p.Device(manifest.ID{1}, TCP, false, 0)
	check(t, err)
	second, err := p.Device(manifest.ID{2}, TCP, true, 0)
	check(t, err)
	if _, err := p.Device(manifest.ID{1}, TCP, false, 0); !errors.Is(err, oneport.ErrTaken) {
		t.Error(err)
	}
	check(t, first.Close())
	first, err = p.Device(manifest.ID{1}, TCP, false, 0)
	check(t, err)
	check(t, first.Close())
	check(t, p.Shutdown(patient(t)))
	check(t, second.Close())
	if _, err := p.Device(manifest.ID{3}, TCP, false, 0); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// Whatever is behind the port asks for a certificate before anything else, but for the blocks of a push that is plain.
func TestWhoSpeaksTLS(t *testing.T) {
	p := open(t, Config{Keys: ring(t, newAuthority(t, "c"), "host1", control.RoleAgent)})
	for i, plain := range []bool{false, true} {
		d, err := p.Device(manifest.ID{byte(i)}, SHM, plain, 0)
		check(t, err)
		defer d.Close()
	}
	for name, want := range map[string]bool{sessions: true, nic: true, "data/0000000000000000": true, "data/0100000000000000": false} {
		c, err := net.Dial("tcp", p.Address())
		check(t, err)
		_, err = c.Write(oneport.Preface(name))
		check(t, err)
		if err := tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake(); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
}
