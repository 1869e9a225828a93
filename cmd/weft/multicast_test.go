package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/bench/cast"
)

// Every mistake on the command line is told in one line that names it, with exit status 2.
func TestMulticastUsage(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"", "who are the members? Say --local N"},
		{"--local 1", "--local 1: a group has 2 to 1024 members"},
		{"--local 5000", "--local 5000: a group has"},
		{"--local 2000000 --provider sim", "--local 2000000: a group has"},
		{"--local x", `invalid argument "x" for "--local"`},
		{"--local 4 --members a:1", "--members and --local exclude each other"},
		{"--serve --local 4", "--serve and --local exclude each other"},
		{"--serve=", "an address is empty"},
		{"--serve 127.0.0.1 --size 1MB", "--size is said by the root, not with --serve"},
		{"--serve 127.0.0.1 extra", `multicast takes no argument "127.0.0.1"`},
		{"--serve 0.0.0.0", "other hosts could reach it, and nothing is encrypted: add --plain"},
		{"--serve :7471", "--serve :7471: other hosts could reach it, and nothing is encrypted: add --plain"},
		{"--serve nowhere:x", "is no address"},
		{"--local 4 extra", `multicast takes no argument "extra"`},
		{"--local 4 --keep", "--keep is for --serve"},
		{"--members 10.0.0.1", "10.0.0.1:7471 is beyond this host, and nothing is encrypted: add --plain"},
		{"--members host", "host:7471 is beyond this host"},
		{"--members 127.0.0.1,127.0.0.1", "one is empty, or named twice"},
		{"--members 127.0.0.1:1" + manyPorts(), "--members: with the root they are 1025"},
		{"--members 127.0.0.1,", "one is empty, or named twice"},
		{"--members 127.0.0.1 --provider sim", "provider sim is within one process: it needs --local N"},
		{"--local 4 --provider inproc", `--provider "inproc": there are auto, shm, ibv, tcp, sim`},
		{"--local 4 --provider sim --device mlx5_0", "leave one of them out"},
		{"--local 4 --provider tcp --device mlx5_0", "leave one of them out"},
		{"--local 4 --size lots", `--size: "lots"`},
		{"--local 4 --size 500TB", "every member needs the whole message"},
		{"--local 4 --size 500TB --provider sim", "size: "},
		{"--local 4 --block 3PB", "--block 3PB: write auto, or a size up to 256 MiB"},
		{"--local 4 --block 1", "block size: 1"},
		{"--local 4 --block 0", "--block 0: write auto, or a size"},
		{"--local 4 --algorithm auto --racks 2,3", "racks: 5 members in all makes no sense"},
		{"--local 4 --algorithm AUTO", "rack-stripes, and auto"},
		{"--local 4 --algorithm magic", `no algorithm "magic": there are pipeline, circulant`},
		{"--local 4 --algorithm rack-chain", "--algorithm rack-chain needs --racks"},
		{"--local 4 --algorithm rack-chain --racks 2,3", "racks: 5 members in all makes no sense: the group has 4"},
		{"--local 4 --algorithm rack-chain --racks 2,zwei", "write how many members are in each rack: 4,4,8"},
		{"--local 4 --racks 2,2", "leave them out, or take rack-chain"},
		{"--local 4 --stripes 0", "stripes: 0"},
		{"--local 4 --credits 1000", "credits: 1000"},
		{"--local 4 --repeat -1", "runs: -1"},
		{"--local 4 --repeat 0", "runs: 0"},
		{"--local 4 --wait never", "--wait: "},
		{"--local 4 --rate fast", `--rate: "fast" is no rate: write it as 200mbit`},
		{"--local 4 --timeout 0s", "--timeout 0s: it is above 0"},
		{"--local 4 --peer-timeout 1ns", "--peer-timeout 1ns: it is between"},
	} {
		status, out, errs := weft(append([]string{"multicast"}, strings.Fields(c.args)...)...)
		if status != exitUsage || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 || out != "" {
			t.Errorf("weft multicast %s: status %d, %s%s; want %q", c.args, status, out, errs, c.says)
		}
	}
}

// manyPorts are more members than there can be.
func manyPorts() string {
	var list strings.Builder
	for port := 2; port <= cast.MaxProcesses; port++ {
		fmt.Fprintf(&list, ",127.0.0.1:%d", port)
	}
	return list.String()
}

// The simulator shows groups of any shape, and says that it is one. Nothing is wider than a terminal.
func TestMulticastSimulated(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--local 2 --size 0", "0 B in 1 block of "},
		{"--local 8", "8 members, simulated, 100 Gbit/s, timed by the virtual clock\n256 MB in "},
		{"--local 8 --size 64GB --block 64MiB", "phantom memory"},
		{"--local 100 --rate 40gbit --size 1MB --algorithm circulant --stripes 1 --block 64KiB", "22 steps, at best 22"},
		{"--local 16 --racks 4,4,8 --algorithm rack-pipeline --size 10MB --block 1MiB", "16 members, simulated"},
		{"--local 8 --size 10MB --offload --repeat 2", "median"},
		{"--local 3 --size 1MB -v", "member 2 (node2)"},
		{"--local 9 --size 1MB --algorithm auto", "chosen for 12.5 GB/s, latency "},
		{"--local 8 --size 1MB --algorithm auto --racks 4,4", "expected time: "},
		{"--local 8 --size 1MB --algorithm auto --block 100000 --stripes 1", "1 MB in 10 blocks of 100 kB"},
	} {
		status, out, errs := weft(append([]string{"multicast", "--quiet", "--provider", "sim"}, strings.Fields(c.args)...)...)
		if status != 0 || errs != "" || !strings.Contains(out, c.says) || !strings.Contains(out, "verified") || !strings.Contains(out, "simulated") {
			t.Errorf("%s: status %d; want %q\n%s%s", c.args, status, c.says, out, errs)
		}
		narrow(t, out)
	}
}

func narrow(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if n := len([]rune(line)) - 1; n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestMulticastSpeaksJSON(t *testing.T) {
	status, out, errs := weft(strings.Fields("multicast --local 3 --provider sim --size 100kB --stripes 1 --repeat 2 --json --quiet")...)
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	var got any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	text, _ := json.MarshalIndent(shape(got, "weft"), "", "  ")
	golden := filepath.Join("testdata", "multicast.json")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(text) {
		t.Errorf("the shape differs from %s:\n%s", golden, text)
	}
}

// Processes get the message through every lane, and a program can read what came of it.
func TestMulticastLocal(t *testing.T) {
	t.Setenv(asCommand, "1")
	for _, c := range []struct{ lane, args string }{
		{"shm", "--local 4 --size 3MB --repeat 2"},
		{"shm", "--local 3 --size 100 --wait sleeping --rate 10gbit"},
		{"tcp", "--local 4 --size 3MB --repeat 2"},
		{"tcp", "--local 6 --size 1MB --algorithm circulant --repeat 1"},
		{"shm", "--local 4 --size 3MB --algorithm auto"},
		{"tcp", "--local 4 --size 3MB --algorithm auto --rate 1gbit"},
		{"tcp", "--local 3 --size 1MB --block 64KiB --stripes 2 --credits 3"},
	} {
		status, out, errs := weft(append([]string{"multicast", "--json", "--quiet", "--provider", c.lane}, strings.Fields(c.args)...)...)
		var r castReport
		if err := json.Unmarshal([]byte(out), &r); status != 0 || errs != "" || err != nil {
			t.Fatalf("%s: status %d, %v, %s%s", c.args, status, err, out, errs)
		}
		if r.Provider != c.lane || r.Clock != cast.ClockHost || r.Interrupted || r.Error != "" || (r.Copy == nil) != (r.Rate > 0) {
			t.Errorf("%s: %+v", c.args, r)
		}
		if fixed := strings.Contains(c.args, "--credits"); (r.Chosen == nil) != fixed || r.Block == 0 || r.Stripes == 0 || r.Credits == 0 {
			t.Errorf("%s: %+v, chosen for %+v", c.args, r, r.Chosen)
		}
		for _, run := range r.Results {
			if run.CPU <= 0 || len(run.MemberCPU) != len(r.Members) {
				t.Errorf("%s: processor time: %+v", c.args, run)
			}
			if !run.Verified || len(run.Members) != len(r.Members) || slices.Max(run.Members) != run.Seconds {
				t.Errorf("%s: %+v", c.args, run)
			}
		}
	}
}

func TestMulticastTable(t *testing.T) {
	t.Setenv(asCommand, "1")
	status, out, errs := weft(strings.Fields("multicast --local 3 --provider shm --size 1MB --quiet")...)
	if status != 0 || errs != "" || strings.Count(out, "verified") != 4 || !strings.Contains(out, "one copy, to member 1 alone") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	narrow(t, out)
}

// On one host, whose cores the cost model does not know, no time is expected; what the cores can do at best is said.
func TestMulticastSharesCores(t *testing.T) {
	var out strings.Builder
	c := &castShow{out: &out, progress: newProgress(&out, true, func(time.Duration) string { return "" })}
	links := cast.Links{Rate: 1e9, Local: true}
	c.chosen(&cast.Chosen{Links: links, Predicted: 1})
	r := &cast.Report{Job: cast.Job{Members: make([]string, 8)}, Cores: 2, Copy: &cast.Copy{Seconds: 0.02, Rate: 1e9}}
	c.copied(r)
	if got := out.String(); strings.Contains(got, "expected") || !strings.Contains(got, "\n7 of them, by the 2 cores that all members share, at best: 70.0 ms\n") {
		t.Error(got)
	}
	out.Reset()
	links.Local, r.Cores = false, 64
	c.chosen(&cast.Chosen{Links: links, Predicted: 1})
	c.copied(r)
	if got := out.String(); !strings.Contains(got, "\nexpected time: 1.00 s\n") || strings.Contains(got, "share") {
		t.Error(got)
	}
}

// A member that does not come is named, when the time is up.
func TestMulticastMissing(t *testing.T) {
	status, _, errs := weft(strings.Fields("multicast --members unix:@weft-nobody,unix:@weft-none --timeout 1s --quiet")...)
	if status != exitFailed || !strings.Contains(errs, "member 1 (unix:@weft-nobody) did not ") || !strings.Contains(errs, "member 2 (unix:@weft-none) did not ") {
		t.Errorf("status %d, %s", status, errs)
	}
}

func TestMulticastOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range []string{"multicast --local 2 --provider sim --size 1kB", "multicast --local 2 --provider sim --size 1kB --json"} {
		var errs strings.Builder
		if status := run(context.Background(), strings.Fields(args), brokenPipe{}, &errs); status != exitFailed || !strings.Contains(errs.String(), "broken pipe") {
			t.Errorf("%s: status %d, %s", args, status, &errs)
		}
	}
}

func TestMulticastProgress(t *testing.T) {
	p := &castProgress{}
	p.expect(&cast.Job{Size: 1e9, Block: 1 << 20, Members: make([]string, 8)})
	p.formed(954)
	if got := p.line(3 * time.Second); got != "bringing 8 members together, 3s" {
		t.Error(got)
	}
	p.begin(-1, 4, func() int { return 0 })
	if got := p.line(3 * time.Second); got != "one copy [                        ] 0 % of 1 GB, 3s" {
		t.Error(got)
	}
	p.begin(1, 4, func() int { return 477 })
	line := p.line(time.Minute)
	if line != "run 2 of 4 [============            ] 50 % of 1 GB, 1m0s" {
		t.Error(line)
	}
	if got := fitting(line, 20); got != "run 2 of 4 [=======" {
		t.Errorf("%q", got)
	}
	if fitting(line, 0) != line || fitting(line, 80) != line {
		t.Error("it was cut for no reason")
	}
}
