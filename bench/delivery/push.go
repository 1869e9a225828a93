package delivery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/push"
)

// Push is one way to run weft push: agents wait at all receivers, and the first host pushes.
type Push struct {
	Name    string
	Options []string              // of weft push
	Source  string                // a file; empty: the object
	Again   bool                  // push it a second time, with --checksum: there is nothing to do
	Kill    int                   // the agent of this host is killed when half has arrived; 0: none is
	Slow    int                   // the link of this host has half the rate; 0: none has
	Enough  func(push.Event) bool // then the pusher is stopped; nil: it ends by itself
}

// Pushed is how it went.
type Pushed struct {
	Report *push.Report
	Again  *push.Report             // of the second push
	Done   map[string]time.Duration // when each host had committed everything, from the beginning of the push
	CPU    []float64                // seconds that the agent of each host took; of the first host: nothing
	whole  time.Duration            // of the pusher's process
}

// Contestant pushes. What the pusher and its agents tell is left in told, if that is not nil.
//
// Seconds are what the pusher counts from its beginning to its end: to look at the source, to connect, to hash, send, verify and commit. Whole is
// the time of its process. Agents are daemons, and run already.
func (p Push) Contestant(told *Pushed) Contestant {
	if told == nil {
		told = &Pushed{}
	}
	partly := p.Source != "" || p.Enough != nil
	return Contestant{Name: p.Name, Kind: KindPush, partly: partly, deliver: func(ctx context.Context, d *Delivery) (s Sample, err error) {
		*told, err = d.push(ctx, p)
		if err != nil {
			return s, err
		}
		return Sample{Seconds: told.Report.Elapsed.Seconds(), Whole: told.whole.Seconds()}, nil
	}}
}

const (
	pushPort = "7470"
	pushDest = "pushed/"
)

func (d *Delivery) push(ctx context.Context, p Push) (told Pushed, err error) {
	source := p.Source
	if source == "" {
		if source, err = d.object(d.Bytes); err != nil {
			return told, err
		}
	}
	agents, err := d.agents(ctx)
	if err != nil {
		return told, err
	}
	before, err := cpuOfAll(agents)
	if err != nil {
		return told, err
	}
	first, err := d.pushSlowly(ctx, p, source, agents)
	if err != nil {
		return told, err
	}
	told = Pushed{Report: first.report, Done: first.done, whole: first.took}
	if p.Kill == 0 { // who is dead tells nothing
		after, err := cpuOfAll(agents)
		if err != nil {
			return told, err
		}
		for host := range after {
			told.CPU = append(told.CPU, after[host]-before[host])
		}
	}
	if p.Enough == nil || p.Slow > 0 {
		err = d.rightlyPushed(source, max(p.Kill, p.Slow))
	}
	if err == nil && p.Again {
		again := Push{Name: p.Name, Options: append(slices.Clone(p.Options), "--checksum")}
		var second *pushing
		if second, err = d.pushOnce(ctx, again, source, agents); err == nil {
			told.Again = second.report
		}
	}
	return told, err
}

// rightlyPushed looks at what has arrived, everywhere but at one host.
func (d *Delivery) rightlyPushed(source string, except int) error {
	var arrived []string
	for host := 1; host < d.network.Hosts(); host++ {
		if host != except {
			arrived = append(arrived, filepath.Join(d.placeOf(host), pushDest, filepath.Base(source)))
		}
	}
	return sameFiles(source, arrived...)
}

// agents starts an agent at each receiver, and waits until all serve. That of the first host is nil.
func (d *Delivery) agents(ctx context.Context) ([]*process, error) {
	keys, err := d.pushKeys(ctx)
	if err != nil {
		return nil, err
	}
	agents := []*process{nil}
	for host, address := range d.addresses() {
		if host == 0 {
			continue
		}
		root, err := d.place(host)
		if err != nil {
			return nil, err
		}
		p, err := d.start(ctx, host, d.self, "agent", "--root", root, "--keys", filepath.Join(keys, address+".pem"), "--listen", address+":"+pushPort, "--no-shm")
		if err != nil {
			return nil, err
		}
		agents = append(agents, p)
	}
	for _, p := range agents[1:] {
		if err := p.hear(ctx, "pushers are served", 1); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

// pushKeys makes the keys of all agents and of the pusher, once.
func (f *Field) pushKeys(ctx context.Context) (folder string, err error) {
	return f.makeKeys(ctx, "keys", f.addresses()[1:])
}

// pushSlowly pushes, with a slow link if there is to be one.
func (d *Delivery) pushSlowly(ctx context.Context, p Push, source string, agents []*process) (run *pushing, err error) {
	if p.Slow > 0 {
		if err := d.network.Limit(p.Slow, fmt.Sprintf("%dkbit", int(d.rate/2e3))); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, d.network.Limit(p.Slow, d.text)) }()
	}
	return d.pushOnce(ctx, p, source, agents)
}

// pushOnce runs the pusher to its end.
func (d *Delivery) pushOnce(ctx context.Context, p Push, source string, agents []*process) (*pushing, error) {
	line := []string{"push", "--json", source, pushDest, "-w", strings.Join(d.addresses()[1:], ","), "--keys", filepath.Join(d.folder, "keys", "pusher.pem")}
	command := d.network.Command(ctx, 0, d.self, append(line, p.Options...)...)
	command.Env = d.alone()
	run := &pushing{Push: p, done: map[string]time.Duration{}, doneAt: map[string]time.Time{}}
	run.kill = func() { _ = agents[p.Kill].command.Process.Kill() }
	run.stop = func() { _ = command.Process.Signal(syscall.SIGTERM) } // the first Ctrl-C only asks how far it is, and two at once are one
	command.Stdout = run
	began := time.Now()
	process, err := d.startCommand(command)
	if err != nil {
		return nil, err
	}
	err = process.wait()
	run.took = time.Since(began)
	return run, run.judge(err, process.said.tail())
}

// alone is the environment of a push that neither finds what its user has set, nor leaves anything of its own there.
func (d *Delivery) alone() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PUSH_") || strings.HasPrefix(v, "WEFT_DEVICE=") || strings.HasPrefix(v, "WEFT_PROVIDER=")
	})
	for _, name := range []string{"CACHE", "STATE", "CONFIG"} {
		env = append(env, "XDG_"+name+"_HOME="+filepath.Join(d.folder, strings.ToLower(name)))
	}
	return append(env, "TMPDIR="+d.folder)
}

// cpuOfAll is what agents have used so far, in seconds.
func cpuOfAll(agents []*process) (all []float64, err error) {
	for _, p := range agents {
		used := 0.0
		if p != nil {
			if used, err = processTime(p.command.Process.Pid); err != nil {
				return nil, err
			}
		}
		all = append(all, used)
	}
	return all, nil
}

var errNoReport = errors.New("weft push has told nothing")
