package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/rig/links/network"
)

// lacking ends a test for which this machine lacks something. On a desk it is skipped; in CI nobody reads that, so there it fails.
func lacking(t testing.TB, what ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what...)
	}
	t.Skip(what...)
}

// verdict is how a test ends by itself.
type verdict struct {
	testing.TB
	word string
}

func (*verdict) Helper()        {}
func (v *verdict) Fatal(...any) { v.word += "failed "; runtime.Goexit() }
func (v *verdict) Skip(...any)  { v.word += "skipped "; runtime.Goexit() }

// What is skipped on a desk fails in CI.
func TestLacking(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped ", "1": "failed "} {
		t.Setenv("CI", ci)
		v := &verdict{TB: t}
		var ending sync.WaitGroup
		ending.Go(func() { lacking(v, "root") })
		if ending.Wait(); v.word != want {
			t.Errorf("with CI=%q it is %q", ci, v.word)
		}
	}
}

// twoHosts are two hosts with a link between them: see hostsWith.
func twoHosts(t *testing.T) *network.Network { t.Helper(); return hostsWith(t, 2, network.Unlimited) }

// hostsWith are some whose links have a rate. Where there cannot be any, see lacking.
func hostsWith(t *testing.T, count int, rate string) *network.Network {
	t.Helper()
	n, err := network.Up(network.Config{Racks: []int{count}, Rate: rate})
	if err != nil {
		lacking(t, err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// weftOn prepares a command of weft on a host.
func weftOn(t *testing.T, n *network.Network, host int, args ...string) *exec.Cmd {
	cmd := n.Command(t.Context(), host, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// echoOn starts a service on a host, and returns where it is reached.
func echoOn(t *testing.T, n *network.Network, host int, args ...string) (at []string) {
	t.Helper()
	echo := weftOn(t, n, host, append([]string{"serve-echo", "--json"}, args...)...)
	echo.Stderr = os.Stderr
	out, err := echo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := echo.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { interrupt(t, echo) })
	var ready echoEvent
	if err := json.NewDecoder(out).Decode(&ready); err != nil || ready.Event != "ready" {
		t.Fatalf("%+v: %v", ready, err)
	}
	return ready.At
}

// Who only calls does not listen, and reaches a service of another host all the same. Which of two NICs has the smaller name is drawn
// anew with every process: so it calls often enough that it has both.
func TestACallerOfAnotherHostNeedNotListen(t *testing.T) {
	n := twoHosts(t)
	dir := t.TempDir()
	keysJSON(t, "make", filepath.Join(dir, "keys"), "server", "client")
	pem := func(name string) string { return filepath.Join(dir, "keys", name+".pem") }
	for name, flags := range map[string]struct{ server, client []string }{
		"plain": {[]string{"--plain"}, []string{"--plain"}},
		"keys":  {[]string{"--keys", pem("server")}, []string{"--keys", pem("client")}},
	} {
		t.Run(name, func(t *testing.T) {
			at := []string{"--directory", filepath.Join(dir, "services "+name)}
			echoOn(t, n, 0, append(append(at, "--listen", n.Address(0)+":0", "greeter"), flags.server...)...)
			for range 10 {
				call := weftOn(t, n, 1, append(append([]string{"call", "greeter", "--data", "hello"}, at...), flags.client...)...)
				if out, err := call.CombinedOutput(); err != nil || string(out) != "hello" {
					t.Fatalf("%v, %q", err, out)
				}
			}
		})
	}
}

// A service that listens at all addresses of its host is found at one that others can dial.
func TestAServiceThatListensEverywhere(t *testing.T) {
	n := twoHosts(t)
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		flags := []string{"--directory", filepath.Join(t.TempDir(), "services"), "--plain"}
		at := echoOn(t, n, 0, append(flags, "--listen", listen, "greeter")...)
		if len(at) != 1 || !strings.HasPrefix(at[0], n.Address(0)+":") {
			t.Errorf("--listen %s: others are told %q", listen, at)
		}
		call := weftOn(t, n, 1, append([]string{"call", "greeter", "--data", "hello"}, flags...)...)
		if out, err := call.CombinedOutput(); err != nil || string(out) != "hello" {
			t.Errorf("--listen %s: %v, %q", listen, err, out)
		}
	}
}

// Of several addresses it is that of the default route, not the first.
func TestTheDefaultRouteSaysWhereAServiceIs(t *testing.T) {
	n := twoHosts(t)
	const uplink = "10.88.0.1"
	for _, line := range []string{"address add " + uplink + "/24 dev eth0", "route add default via 10.88.0.2"} {
		if out, err := n.Command(t.Context(), 0, "ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v, %s", line, err, out)
		}
	}
	at := echoOn(t, n, 0, "--directory", filepath.Join(t.TempDir(), "services"), "--plain", "--listen", "0.0.0.0:0", "greeter")
	if len(at) != 1 || !strings.HasPrefix(at[0], uplink+":") {
		t.Errorf("others are told %q", at)
	}
}
