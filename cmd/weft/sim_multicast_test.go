package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/bench/sweep"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// Every mistake on the command line is told in one line that names it, with exit status 2.
func TestSimMulticastUsage(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--nodes 1", `--nodes "1": a group of 1 makes no sense: it has 2 to 10000`},
		{"--nodes 0", `--nodes "0": write how many nodes there are, 2 to 10000`},
		{"--nodes 10000000", `--nodes "10000000": a group of 10000000 makes no sense: it has 2 to 10000`},
		{"--nodes 9223372036854775807", "a group of 9223372036854775807 makes no sense"},
		{"--nodes -4", `--nodes "-4": write how many`},
		{"--nodes many", `--nodes "many": write how many`},
		{"--nodes 4KiB", `--nodes "4KiB": write how many`},
		{"--nodes=", `--nodes "": write how many`},
		{"--nodes 16..4", `--nodes "16..4": write how many`},
		{"extra", `multicast takes no argument "extra"`},
		{"--racks 3x5 --nodes 16", "--nodes 16 --racks 3x5: the racks have 15 nodes, with the root: leave --nodes out, or make them fit"},
		{"--racks 3x5 --nodes 15,30", "leave --nodes out, or make them fit"},
		{"--racks 3x0", `--racks "3x0": write how many members are in each rack`},
		{"--racks 200x100", "--racks 200x100: a group of 20000 makes no sense: it has 2 to 10000"},
		{"--racks 1x1", "--racks 1x1: a group of 1"},
		{"--racks 1x8 --algorithm rack-chain", "--algorithm rack-chain with --racks 1x8: it needs two racks at least, and two nodes in one of them"},
		{"--racks 8x1 --algorithm rack-stripes,all", "--algorithm rack-stripes with --racks 8x1: it needs"},
		{"--oversubscribe 4", "--oversubscribe 4 is about links between racks: say --racks"},
		{"--racks 2x4 --oversubscribe 0.5", "--oversubscribe 0.5: it is between 1 and 1000000"},
		{"--racks 2x4 --oversubscribe NaN", "--oversubscribe NaN: it is between"},
		{"--slow 9999@50%", "slow: node 9999 makes no sense: there are 0, the root, to 63"},
		{"--slow 0-64@50%", "slow: node 64 makes no sense"},
		{"--slow 3-3@50%", "slow: a link from node 3 to itself"},
		{"--slow 3@0%", `--slow "3@0%": write a node, or two with a link, and what is left of the rate, above 0 and up to 100: 3@50%`},
		{"--slow 3@0.00001%", "of the rate makes no sense: it is from a millionth up to 1"},
		{"--slow 3@101%", `--slow "3@101%"`},
		{"--slow 3@NaN%", `--slow "3@NaN%"`},
		{"--slow 3", `--slow "3"`},
		{"--slow -1@50%", `--slow "-1@50%"`},
		{"--slow 1--1@50%", `--slow "1--1@50%"`},
		{"--rate 0", `--rate: "0" is no rate`},
		{"--rate fast", `--rate: "fast" is no rate`},
		{"--blocks 0", `--blocks: "0": sizes begin at 1; or write auto`},
		{"--blocks 1", "--blocks: one of 1 B: it is between 64 B and 64 MiB"},
		{"--blocks 1GB", "--blocks: one of 1 GB: it is between"},
		{"--size 0", `--size: "0": sizes begin at 1`},
		{"--size lots", `--size: "lots"`},
		{"--size 500TB", "size: 500000000000000 bytes makes no sense"},
		{"--size 1TB --blocks 64KiB", "are 961303770 transfers, which makes no sense: at most 134217728; take larger blocks"},
		{"--algorithm magic", `no algorithm "magic": there are pipeline, circulant`},
		{"--algorithm rack-chain", "--algorithm rack-chain needs --racks"},
		{"--algorithm=", "--algorithm: which? Name one or more, all, or auto"},
		{"--stripes 0", "--stripes: 0 makes no sense: leave it out, and it is chosen"},
		{"--credits 0", "--credits: 0 makes no sense: leave it out, and it is chosen"},
		{"--stripes 100", "stripes: 100"},
		{"--credits 1000", "credits: 1000"},
		{"--stripes -1", "stripes: -1"},
		{"--message -5us", "message: -5µs makes no sense"},
		{"--message 1h", "message: 1h0m0s makes no sense"},
		{"--latency 1ns", "latency: 1ns makes no sense: it is from 861ns, which the hosts take, up to 1s"},
		{"--latency 0", "--latency: 0 makes no sense: leave it out, and it is 1.135µs; the least is 861ns, which the hosts take"},
		{"--message 0s", "--message: 0 makes no sense: leave it out, and it is 7ns"},
		{"--slow 3@50%,3@10%", "slow: node 3 twice makes no sense: say once what is left of its rate"},
		{"--plot -", `--plot "-": write FILE.svg`},
		{"--plot -q", `--plot "-q": write FILE.svg`},
		{"--plot=", `--plot "": write FILE.svg`},
		{"--plot x.png", `--plot "x.png": write FILE.svg`},
		{"--plot /nowhere/x.svg", "there is no directory /nowhere"},
		{"--nodes 2..8192 --size 1,2,3,4,5 --plot x.svg", "series are too many to tell apart: draw at most 24"},
		{"--nodes 2..8192 --size 1..1GiB --blocks 64..64KiB", "a sweep of"},
	} {
		status, out, errs := weft(append([]string{"sim", "multicast"}, strings.Fields(c.args)...)...)
		if status != exitUsage || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 || out != "" {
			t.Errorf("weft sim multicast %s: status %d, %s%s; want %q", c.args, status, out, errs, c.says)
		}
	}
}

// Tables of all shapes say what was simulated, and are not wider than a terminal.
func TestSimMulticast(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--nodes 8 --size 1MB", "1 MB to 8 nodes, links of 100 Gbit/s; 1.14 µs from host to host.\nOne copy on one link takes 80.0 µs."},
		{"--nodes 8 --size 1MB", "\nsequential "},
		{"--nodes 2..8 --size 1MB --algorithm pipeline,tree", "\nbest for 8 nodes: pipeline, blocks of "},
		{"--nodes 8 --size 1MB,2MB --algorithm auto,tree", "\nbest, 2 MB: auto "},
		{"--nodes 8 --size 1MB --blocks 64KiB,128KiB --algorithm chain,chain", "\nchain      128 KiB "},
		{"--nodes 8 --size 1MB --algorithm auto,all -v", " at best "},
		{"--racks 2x4 --size 1MB --oversubscribe 4 --algorithm all,auto", "2 racks of 4, oversubscribed 4:1: each has 100 Gbit/s to the others.\n"},
		{"--racks 4,4,8 --size 1MB --oversubscribe 8", "3 racks of 4 or more, oversubscribed 8:1: each has 50 Gbit/s to the others.\n"},
		{"--racks 1x4 --size 1MB --algorithm all", "\nThose for racks are left out: they need two racks, and two nodes in one of them.\n"},
		{"--racks 4x1 --size 1MB --algorithm all,auto", "\nThose for racks are left out"},
		{"--nodes 8 --size 16MB --algorithm pipeline,tree -v", "/4~ "},
		{"--nodes 8 --size 16MB --algorithm pipeline,tree -v", "\n  a pace of "},
		{"--nodes 8 --size 16MB --algorithm pipeline,tree", "\n~ paced: a member sends one block in the time that a link takes for it\n"},
		{"--racks 4,2,2 --size 1MB,2MB --blocks 100kB --algorithm all,auto", "rack-stripes"},
		{"--nodes 8 --size 1MB --slow 3@50%,0-1@10% --message 5us --latency 3us --offload --seed 7", "The link between nodes 0 and 1 has 10.0 % of its rate."},
		{"--nodes 8 --size 1MB --slow 3@50% --slow 4@50%", "Node 4 has 50.0 % of its rate."},
		{"--nodes 2 --size 1", "1 B to 2 nodes"},
	} {
		status, out, errs := weft(append([]string{"sim", "multicast", "--quiet"}, strings.Fields(c.args)...)...)
		if status != 0 || errs != "" || !strings.Contains(out, c.says) || !strings.Contains(out, "\nbest") {
			t.Errorf("%s: status %d; want %q\n%s%s", c.args, status, c.says, out, errs)
		}
		narrow(t, out)
	}
}

// What has no rival is not called the best.
func TestSimMulticastWithoutRivals(t *testing.T) {
	status, out, errs := weft(strings.Fields("sim multicast --quiet --nodes 2..8 --size 1MB --algorithm pipeline")...)
	if status != 0 || errs != "" || strings.Contains(out, "best") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// What takes minutes and can be computed is left out, and said.
func TestSimMulticastOmits(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the table does not matter here
	var out, errs strings.Builder
	run(ctx, strings.Fields("sim multicast --nodes 10000 --size 1GB --blocks 1MB --rate 40gbit --quiet"), &out, &errs)
	if want := "sequential to 10000 is left out: 9999000 transfers of a block take minutes.\nBy its formula it takes 2000 s."; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, &out)
	}
	narrow(t, out.String())
}

func TestSimMulticastSpeaksJSON(t *testing.T) {
	status, out, errs := weft(strings.Fields("sim multicast --racks 2x2 --size 100kB --algorithm rack-chain,auto --slow 3@50% --json --quiet -v")...)
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	sameShape(t, out, "sim_multicast.json")
	var r sweepReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Results) != 2 || len(r.Best) != 1 || r.Fabric.Latency != 1135 || r.Fabric.Message != 7 || r.Results[0].CrossRack != r.Results[0].Blocks {
		t.Errorf("%v: %+v", err, r)
	}
}

// sameShape compares an object's fields with those that are kept in a file.
func sameShape(t *testing.T, out, file string) {
	t.Helper()
	var got any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	text, _ := json.MarshalIndent(shape(got, "weft", "algorithm"), "", "  ")
	golden := filepath.Join("testdata", file)
	want, err := os.ReadFile(golden)
	if err != nil || strings.TrimSpace(string(want)) != string(text) {
		t.Errorf("%v: the shape differs from %s:\n%s", err, golden, text)
	}
}

// The same seed gives the same object, but for what it cost.
func TestSimMulticastRepeats(t *testing.T) {
	object := func() (r sweepReport) {
		_, out, _ := weft(strings.Fields("sim multicast --nodes 9 --size 3MB --json --quiet --seed 5")...)
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, second := object(), object()
	for i, row := range first.Results {
		if again := second.Results[i]; row.Seconds != again.Seconds || row.Events != again.Events {
			t.Errorf("%+v and %+v", row, again)
		}
	}
}

func TestSimMulticastDraws(t *testing.T) {
	dir := t.TempDir()
	for file, begins := range map[string]string{"a.svg": "<svg", "a.html": "<!doctype html>"} {
		path := filepath.Join(dir, file)
		status, _, errs := weft(strings.Fields("sim multicast --nodes 4,8 --size 1MB --plot " + path)...)
		text, err := os.ReadFile(path)
		if status != 0 || errs != "weft: wrote "+path+"\n" || err != nil || !strings.HasPrefix(strings.ToLower(string(text)), begins) {
			t.Errorf("%s: status %d, %s, %v, %.60s", file, status, errs, err, text)
		}
	}
}

func TestSimMulticastInterrupted(t *testing.T) {
	for _, args := range []string{"", "--json"} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		path := filepath.Join(t.TempDir(), "none.svg")
		var out, errs strings.Builder
		status := run(ctx, append(strings.Fields("sim multicast --nodes 100 --size 1TB --quiet --plot "+path), strings.Fields(args)...), &out, &errs)
		if said := "interrupted: 0 of 5 were simulated; " + path + " was not written"; status < exitSignal || strings.TrimPrefix(complaint(strings.TrimSpace(errs.String())), "weft: ") != said ||
			out.Len() == 0 || strings.Contains(out.String(), `"interrupted":true,"error":"`+said+`"`) != (args != "") {
			t.Errorf("%s: status %d, %s%s", args, status, &out, &errs)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: there is a drawing of nothing", args)
		}
	}
}

// What fails by itself is told, also if a signal comes meanwhile.
func TestOrStopped(t *testing.T) {
	running := context.Background()
	ended, cancel := context.WithCancelCause(running)
	cancel(signalError{syscall.SIGTERM})
	wrong := errors.New("wrong contents")
	for _, c := range []struct {
		ctx    context.Context
		err    error
		want   string
		status int
	}{
		{running, wrong, "wrong contents", exitFailed},
		{ended, wrong, "wrong contents", exitFailed},
		{ended, fmt.Errorf("fig8: %w", context.Canceled), "interrupted: 1 of 2; a was not written", exitSignal + int(syscall.SIGTERM)},
		{ended, context.Cause(ended), "interrupted: 1 of 2; a was not written", exitSignal + int(syscall.SIGTERM)},
	} {
		var errs strings.Builder
		err := orStopped(c.ctx, c.err, "1 of 2", "", "a")
		if status := statusOf(c.ctx, err, false, &errs); status != c.status || errs.String() != "weft: "+c.want+"\n" || isInterrupt(err) != (status != exitFailed) {
			t.Errorf("%v: status %d, %s; want %d, %s", c.err, status, &errs, c.status, c.want)
		}
	}
	if err := orStopped(ended, nil, "2 of 2"); err != nil {
		t.Error(err)
	}
}

func TestSimMulticastOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range []string{"sim multicast --nodes 2 --size 1kB", "sim multicast --nodes 2 --size 1kB --json", "sim paper", "sim paper fig8 --short --json -q"} {
		var errs strings.Builder
		if status := run(context.Background(), strings.Fields(args), brokenPipe{}, &errs); status != exitFailed || !strings.Contains(errs.String(), "broken pipe") {
			t.Errorf("%s: status %d, %s", args, status, &errs)
		}
	}
}

func TestSimProgress(t *testing.T) {
	p := &sweepProgress{all: 3}
	if got := p.line(3 * time.Second); got != "3 to simulate, 3s" {
		t.Error(got)
	}
	p.next(1, sweep.Case{Nodes: 512, Size: 1e9, Choice: tune.Choice{Algorithm: schedule.Chain, Block: 1e6}})
	if got := p.line(3 * time.Second); got != "2 of 3: bringing 512 nodes together, 3s" {
		t.Error(got)
	}
	p.begin(0, 1, func() int { return 500 })
	if got := p.line(3 * time.Second); got != "2 of 3: chain [============            ] 50 % of 1 GB to 512 nodes, 3s" {
		t.Error(got)
	}
	q := &paperProgress{all: 12}
	q.next(2, "fig5")
	q.advance(1, 4)
	if got := q.line(time.Minute); got != "3 of 12: fig5 [======                  ] 25 %, 1m0s" {
		t.Error(got)
	}
}
