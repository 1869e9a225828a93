package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/rig/links/network"
)

// fleet is a pusher, and agents that it reaches, all of them processes.
type fleet struct {
	t      *testing.T
	env    []string // folders that nobody else has, so that what is left over is theirs
	temp   string   // one of them
	keys   string
	pusher string // its keys
	way    string // of the bytes; empty: tcp
	source string // a tree, which comes to the root of each agent
	bytes  uint64 // of its content; 0: of all its files, none of which is hollow or has two names
	agents []*fleetAgent

	network *network.Network // nil: they are all on this host
}

// fleetAgent is one agent. Its number is its host's in the network; there the pusher is 0.
type fleetAgent struct {
	name, root, address string
	number              int
	through             []string // words before its command line, if it is to run in special ways
	keys                string
	args                []string  // beside what all have
	env                 []string  // beside the fleet's
	cmd                 *exec.Cmd // nil: it does not run
	log                 lines
}

// newFleet starts n agents on this host, each at an address of its own, for a tree with so much content.
func newFleet(t *testing.T, n, size int) *fleet {
	t.Helper()
	return idleFleet(t, n, size).launch()
}

// idleFleet has agents that were not started.
func idleFleet(t *testing.T, n, size int) *fleet {
	t.Helper()
	f := fleetOf(t, size)
	for i := range n {
		f.agents = append(f.agents, &fleetAgent{name: fmt.Sprintf("127.0.0.%d", i+1)})
	}
	return f.equip()
}

// newRemoteFleet starts n agents on hosts of their own whose links have a rate.
func newRemoteFleet(t *testing.T, n, size int, rate string) *fleet {
	t.Helper()
	return idleRemoteFleet(t, n, size, rate).launch()
}

// idleRemoteFleet has such agents that were not started.
func idleRemoteFleet(t *testing.T, n, size int, rate string) *fleet {
	t.Helper()
	f := fleetOf(t, size)
	f.network = hostsWith(t, n+1, rate)
	for i := range n {
		f.agents = append(f.agents, &fleetAgent{name: f.network.Address(i + 1), number: i + 1})
	}
	return f.equip()
}

func fleetOf(t *testing.T, size int) *fleet {
	dir := t.TempDir()
	f := &fleet{t: t, temp: filepath.Join(dir, "temporary"), keys: filepath.Join(dir, "keys"), source: filepath.Join(dir, "tree")}
	f.env = append(os.Environ(), asCommand+"=1")
	for name, folder := range map[string]string{"TMPDIR": f.temp, "XDG_STATE_HOME": filepath.Join(dir, "state"), "XDG_CACHE_HOME": filepath.Join(dir, "cache"), "XDG_CONFIG_HOME": filepath.Join(dir, "config")} {
		f.env = append(f.env, name+"="+folder)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	bytes := make([]byte, size)
	rand.NewChaCha8([32]byte{7}).Read(bytes)
	third := size / 3
	put(t, filepath.Join(f.source, "one"), string(bytes[:third]))
	put(t, filepath.Join(f.source, "below", "two"), string(bytes[third:]))
	put(t, filepath.Join(f.source, "below", "small"), "hello")
	return f
}

// equip gives everybody keys, and agents their roots.
func (f *fleet) equip() *fleet {
	f.t.Helper()
	args := []string{"make", f.keys}
	for _, a := range f.agents {
		args = append(args, a.name)
	}
	keysJSON(f.t, append(args, "--push")...)
	f.pusher = keyPath(f.keys, "pusher")
	for _, a := range f.agents {
		a.keys, a.root, a.address = keyPath(f.keys, a.name), filepath.Join(f.t.TempDir(), "root"), a.name+":0"
		if err := os.Mkdir(a.root, 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	return f
}

// launch starts all agents at once.
func (f *fleet) launch() *fleet {
	f.t.Helper()
	f.t.Cleanup(f.end)
	var starting sync.WaitGroup
	for _, a := range f.agents {
		starting.Go(func() { f.start(a) })
	}
	if starting.Wait(); f.t.Failed() {
		f.t.FailNow()
	}
	return f
}

// start starts an agent, at the address that it had before if it did run.
func (f *fleet) start(a *fleetAgent) {
	cmd := f.command(a.number, append([]string{"agent", "--root", a.root, "--keys", a.keys, "--listen", a.address, "--json"}, a.args...)...)
	if len(a.through) > 0 {
		cmd = exec.Command(a.through[0], slices.Concat(a.through[1:], cmd.Args)...)
		cmd.Env = f.env
	}
	cmd.Env = append(slices.Clone(cmd.Env), a.env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = &a.log
		err = cmd.Start()
	}
	if err != nil {
		f.t.Error(err)
		return
	}
	a.cmd = cmd
	var ready agentEvent
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		f.t.Errorf("%s: %v, %s", a.name, err, &a.log)
	}
	a.address = ready.Address
}

// command prepares a command of weft on one of the hosts.
func (f *fleet) command(host int, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	if f.network != nil {
		cmd = f.network.Command(context.Background(), host, os.Args[0], args...)
	}
	cmd.Env = f.env
	return cmd
}

// kill has an agent end without a word.
func (a *fleetAgent) kill() {
	if a.cmd != nil {
		a.cmd.Process.Kill()
		a.cmd.Wait()
		a.cmd = nil
	}
}

// stop has an agent end, which it has to do well.
func (f *fleet) stop(a *fleetAgent) {
	f.t.Helper()
	a.signal(syscall.SIGTERM)
	f.ends(a)
}

// ends has an agent that was told to end do so.
func (f *fleet) ends(a *fleetAgent) {
	f.t.Helper()
	if status := ended(f.t, a.cmd); status != 0 {
		f.t.Errorf("agent %s ends with %d", a.name, status)
	}
	a.cmd = nil
}

func (a *fleetAgent) signal(s syscall.Signal) { a.cmd.Process.Signal(s) }

// forget removes what an agent was sent.
func (a *fleetAgent) forget(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("find", a.root, "-mindepth", "1", "-delete").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// end kills whoever is left. What agents have said is worth reading if something went wrong.
func (f *fleet) end() {
	for _, a := range f.agents {
		a.kill()
		if text := a.log.String(); strings.Contains(text, "panic: ") || strings.Contains(text, "DATA RACE") {
			f.t.Errorf("agent %s has not ended well", a.name)
		}
		if f.t.Failed() && len(f.agents) < 8 {
			f.t.Logf("agent %s said\n%s", a.name, &a.log)
		}
	}
}

// hostlist are all agents, for -w.
func (f *fleet) hostlist() string {
	var all []string
	for _, a := range f.agents {
		all = append(all, a.address)
	}
	return strings.Join(all, ",")
}

// outcome is how it ended for an agent.
func outcomeOf(r *push.Report, a *fleetAgent) (h push.HostReport) {
	for _, h := range r.Hosts {
		if h.Host == a.address {
			return h
		}
	}
	return h
}
