package delivery

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Crowd is weft push to many agents of one host, the first, each at a loopback address of its own, by TCP. What the pusher tells is left in told, and
// in opened how many connections were accepted on the host meanwhile.
func Crowd(agents int, told *Pushed, opened *uint64) Contestant {
	return Contestant{Name: fmt.Sprint("weft push to ", agents, " agents"), Kind: KindPush, partly: true, deliver: func(ctx context.Context, d *Delivery) (s Sample, err error) {
		*told, *opened, err = d.crowd(ctx, agents)
		if err != nil {
			return s, err
		}
		first, err := told.First()
		return Sample{Seconds: first.Seconds(), Whole: told.whole.Seconds()}, err
	}}
}

// crowdAddresses are those of agents on the loopback.
func crowdAddresses(agents int) (all []string) {
	for i := range agents {
		all = append(all, fmt.Sprintf("127.0.%d.%d", 1+i/200, 1+i%200))
	}
	return all
}

func (d *Delivery) crowd(ctx context.Context, agents int) (told Pushed, opened uint64, err error) {
	object, err := d.object(d.Bytes)
	if err != nil {
		return told, 0, err
	}
	addresses := crowdAddresses(agents)
	folder, err := d.place(0)
	if err != nil {
		return told, 0, err
	}
	keys, err := d.crowdKeys(ctx, addresses)
	if err != nil {
		return told, 0, err
	}
	for _, address := range addresses {
		root := filepath.Join(folder, address)
		if err := os.Mkdir(root, 0o755); err != nil {
			return told, 0, err
		}
		if _, err := d.start(ctx, 0, d.self, "agent", "--root", root, "--keys", filepath.Join(keys, address+".pem"), "--listen", address+":"+pushPort); err != nil {
			return told, 0, err
		}
	}
	for _, p := range d.processes {
		if err := p.hear(ctx, "pushers are served", 1); err != nil {
			return told, 0, err
		}
	}
	before, err := d.network.Accepted(0)
	if err != nil {
		return told, 0, err
	}
	run := &pushing{done: map[string]time.Duration{}, doneAt: map[string]time.Time{}}
	command := d.network.Command(ctx, 0, d.self, "push", "--json", object, pushDest, "-w", strings.Join(addresses, ","),
		"--keys", filepath.Join(keys, "pusher.pem"), "--provider", "tcp", "--checksum")
	command.Env = d.alone()
	command.Stdout = run
	began := time.Now()
	process, err := d.startCommand(command)
	if err != nil {
		return told, 0, err
	}
	if err := run.judge(process.wait(), process.said.tail()); err != nil {
		return told, 0, err
	}
	after, err := d.network.Accepted(0)
	return Pushed{Report: run.report, Done: run.done, whole: time.Since(began)}, after - before, err
}

func (f *Field) crowdKeys(ctx context.Context, addresses []string) (folder string, err error) {
	return f.makeKeys(ctx, fmt.Sprint("keys-", len(addresses)), addresses)
}

// makeKeys makes the keys of agents at addresses and of a pusher, once.
func (f *Field) makeKeys(ctx context.Context, name string, addresses []string) (folder string, err error) {
	folder = filepath.Join(f.folder, name)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	line := append([]string{"keys", "make", folder, "--push"}, addresses...)
	if said, err := exec.CommandContext(ctx, f.self, line...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("weft keys make: %w: %s", err, said)
	}
	return folder, nil
}
