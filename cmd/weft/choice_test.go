package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/verbs/driver"
)

// usableLanes are those that this host has.
func usableLanes() (usable []lane) {
	for _, l := range lanes {
		if l.usable("") == nil {
			usable = append(usable, l)
		}
	}
	return usable
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		flags            choiceFlags
		provider, device string // of the environment
		lane, wants      string
		says             string // if it is refused
	}{
		{lane: "auto"},
		{flags: choiceFlags{"tcp", ""}, lane: "tcp"},
		{provider: "shm", lane: "shm"},
		{flags: choiceFlags{"tcp", ""}, provider: "shm", lane: "tcp"},
		{flags: choiceFlags{"", "mlx5_0:1"}, lane: "ibv", wants: "mlx5_0:1"},
		{flags: choiceFlags{"auto", "mlx5_0"}, lane: "ibv", wants: "mlx5_0"},
		{flags: choiceFlags{"ibv", "mlx5_0"}, device: "rxe0", lane: "ibv", wants: "mlx5_0"},
		{device: "rxe0", lane: "auto", wants: "rxe0"},
		{provider: "tcp", device: "rxe0", lane: "tcp", wants: "rxe0"},
		{flags: choiceFlags{"warp", ""}, says: `--provider "warp": there are auto, inproc, shm, ibv, tcp`},
		{provider: "warp", says: `WEFT_PROVIDER "warp": there are`},
		{flags: choiceFlags{"tcp", "rxe0"}, says: "--device rxe0 is an RDMA device, and --provider asks for tcp: leave one of them out"},
		{flags: choiceFlags{"", "rxe0"}, provider: "shm", says: "--device rxe0 is an RDMA device, and WEFT_PROVIDER asks for shm"},
		{flags: choiceFlags{"", ":1"}, says: `--device: ":1" is no RDMA device: write it as mlx5_0`},
		{flags: choiceFlags{"", "rxe0:0"}, says: `--device: "rxe0:0" is no`},
		{flags: choiceFlags{"", "rxe0:x"}, says: `--device: "rxe0:x" is no`},
		{flags: choiceFlags{"", "../rxe0"}, says: `--device: "../rxe0" is no`},
		{device: "a b", says: `WEFT_DEVICE: "a b" is no`},
	} {
		t.Setenv("WEFT_PROVIDER", c.provider)
		t.Setenv("WEFT_DEVICE", c.device)
		p, err := c.flags.choose()
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || p.lane != c.lane || p.device != c.wants {
			t.Errorf("%+v: %+v, %v", c, p, err)
		}
	}
}

func TestOffers(t *testing.T) {
	none := errors.New("no RDMA device")
	for _, c := range []struct {
		p      provider
		offers string
		word   string // why it is TCP
	}{
		{provider{lane: "auto"}, "shm ibv tcp", "the peer offers no RDMA: weft doctor there says why, or it was told not to"},
		{provider{lane: "auto", noRDMA: none}, "shm tcp", "no RDMA device"},
		{provider{lane: "ibv"}, "ibv", ""},
		{provider{lane: "tcp", noRDMA: none}, "tcp", ""},
		{provider{lane: "inproc"}, "inproc", ""},
	} {
		var names []string
		for _, offer := range c.p.offers(time.Second) {
			names = append(names, offer.Provider)
		}
		tcp, _ := laneNamed("tcp")
		if got := strings.Join(names, " "); got != c.offers || !strings.HasPrefix(c.p.whyNot(tcp), c.word) || c.word == "" && c.p.whyNot(tcp) != "" {
			t.Errorf("%+v offers %q and says %q", c.p, got, c.p.whyNot(tcp))
		}
		if shm, _ := laneNamed("shm"); c.p.whyNot(shm) != "" {
			t.Errorf("%+v regrets shared memory: %s", c.p, c.p.whyNot(shm))
		}
		if missing := c.p.missing(); missing != nil {
			t.Errorf("%+v: %v", c.p, missing)
		}
	}
	if err := (provider{lane: "ibv", noRDMA: none}).missing(); !errors.Is(err, none) {
		t.Errorf("what was asked for is not there: %v", err)
	}
}

// sessionPair makes two ends that offer the same.
func sessionPair(t *testing.T, offers ...string) (a, b *connect.Session) {
	t.Helper()
	var options connect.Options
	for _, name := range offers {
		options.Offers = append(options.Offers, connect.Offer{Provider: name})
	}
	listener, err := connect.Listen(t.Context(), fmt.Sprintf("unix:@weft-choice-%d", os.Getpid()), options)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if a, err = connect.Dial(t.Context(), listener.Address(), options); err != nil {
		t.Fatal(err)
	}
	if b, err = listener.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// A lane that does not lead to the peer is followed by the next, with a word; any other failure ends it.
func TestOverLanes(t *testing.T) {
	session, _ := sessionPair(t, "shm", "ibv", "tcp")
	for _, c := range []struct {
		fails map[string]error
		tried string
		words int
		fine  bool
	}{
		{nil, "shm", 0, true},
		{map[string]error{"shm": errNoWay}, "shm ibv", 1, true},
		{map[string]error{"shm": errNoWay, "ibv": errNoWay}, "shm ibv tcp", 2, true},
		{map[string]error{"shm": errNoWay, "ibv": errNoWay, "tcp": errNoWay}, "shm ibv tcp", 2, false},
		{map[string]error{"shm": errors.New("full")}, "shm", 0, false},
	} {
		var tried, said []string
		err := provider{lane: "auto"}.overLanes(session, func(text string) { said = append(said, text) },
			func(l lane, _ connect.Offer) error {
				tried = append(tried, l.name)
				return c.fails[l.name]
			})
		if strings.Join(tried, " ") != c.tried || len(said) != c.words || (err == nil) != c.fine {
			t.Errorf("%v: tried %v, said %q, %v", c.fails, tried, said, err)
		}
	}
}

// Who gets TCP because there is no RDMA is told why; once.
func TestOverTCPForWantOfRDMA(t *testing.T) {
	session, _ := sessionPair(t, "tcp")
	var said []string
	p := provider{lane: "auto", noRDMA: errors.New("the port is down")}
	err := p.overLanes(session, func(text string) { said = append(said, text) }, func(lane, connect.Offer) error { return nil })
	if err != nil || !slices.Equal(said, []string{"over TCP: the port is down"}) {
		t.Errorf("said %q, %v", said, err)
	}
}

// If a device can be opened at one end only, both ends go on with the next lane.
func TestOpenFailsAtBothEnds(t *testing.T) {
	a, b := sessionPair(t, "shm", "tcp")
	good, _ := laneNamed("inproc")
	bad := good
	bad.nic = func(device) (driver.Device, error) { return nil, errors.New("no locked memory") }
	failed := make(chan error, 1)
	go func() {
		_, err := bad.openWith(context.Background(), b, device{reasons: &lastReason{}})
		failed <- err
	}()
	_, err := good.openWith(t.Context(), a, device{reasons: &lastReason{}})
	for _, err := range []error{err, <-failed} {
		if !errors.Is(err, errNoWay) || !strings.Contains(err.Error(), "no locked memory") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
	}
}

func TestIPOf(t *testing.T) {
	for text, want := range map[string]string{"10.9.0.1:99": "10.9.0.1", "127.0.0.1:99": "invalid IP", "[fe80::1%lo]:99": "fe80::1%lo", "[::ffff:10.0.0.1]:1": "10.0.0.1"} {
		address, err := net.ResolveTCPAddr("tcp", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ipOf(address).String(); got != want {
			t.Errorf("%s is near %s, want %s", text, got, want)
		}
	}
	if ipOf(&net.UnixAddr{}).IsValid() {
		t.Error("a Unix socket has an IP address")
	}
}
