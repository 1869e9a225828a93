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
	source string // a tree, which comes to the root of each agent
	agents []*fleetAgent

	network *network.Network // nil: they are all on this host
}

// fleetAgent is one agent. Its number is its host's in the network; there the pusher is 0.
type fleetAgent struct {
	name, root, address string
	number              int
	through             []string  // words before its command line, if it is to run in special ways
	cmd                 *exec.Cmd // nil: it does not run
	log                 lines
}

// newFleet starts n agents on this host, each at an address of its own, for a tree with so much content.
func newFleet(t *testing.T, n, size int) *fleet {
	f := fleetOf(t, size)
	for i := range n {
		f.agents = append(f.agents, &fleetAgent{name: fmt.Sprintf("127.0.0.%d", i+1)})
	}
	return f.launch()
}

// newRemoteFleet starts n agents on hosts of their own whose links have a rate, or the test is skipped.
func newRemoteFleet(t *testing.T, n, size int, rate string) *fleet {
	f := fleetOf(t, size)
	f.network = hostsWith(t, n+1, rate)
	for i := range n {
		f.agents = append(f.agents, &fleetAgent{name: f.network.Address(i + 1), number: i + 1})
	}
	return f.launch()
}

func fleetOf(t *testing.T, size int) *fleet {
	dir := t.TempDir()
	f := &fleet{t: t, temp: filepath.Join(dir, "temporary"), keys: filepath.Join(dir, "keys"), source: filepath.Join(dir, "tree")}
	f.env = append(os.Environ(), asCommand+"=1")
	for name, folder := range map[string]string{"TMPDIR": f.temp, "XDG_STATE_HOME": filepath.Join(dir, "state"), "XDG_CACHE_HOME": filepath.Join(dir, "cache")} {
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

// launch makes keys and starts all agents at once.
func (f *fleet) launch() *fleet {
	f.t.Helper()
	args := []string{"make", f.keys}
	for _, a := range f.agents {
		args = append(args, a.name)
	}
	keysJSON(f.t, append(args, "--push")...)
	f.t.Cleanup(f.end)
	var starting sync.WaitGroup
	for _, a := range f.agents {
		a.root, a.address = f.t.TempDir(), a.name+":0"
		starting.Go(func() { f.start(a) })
	}
	if starting.Wait(); f.t.Failed() {
		f.t.FailNow()
	}
	return f
}

// start starts an agent, at the address that it had before if it did run.
func (f *fleet) start(a *fleetAgent) {
	cmd := f.command(a.number, "agent", "--root", a.root, "--keys", keyPath(f.keys, a.name), "--listen", a.address, "--json")
	if len(a.through) > 0 {
		cmd = exec.Command(a.through[0], slices.Concat(a.through[1:], cmd.Args)...)
		cmd.Env = f.env
	}
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

func (a *fleetAgent) signal(s syscall.Signal) { a.cmd.Process.Signal(s) }

// end kills whoever is left. What agents have said is worth reading if something went wrong.
func (f *fleet) end() {
	for _, a := range f.agents {
		a.kill()
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
