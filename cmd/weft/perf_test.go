package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/provider/ibv"
)

// asCommand in the environment makes the test binary the command: what it starts as a child of itself is weft.
const asCommand = "WEFT_TEST_AS_COMMAND"

// quick is a measurement that takes no time.
var quick = strings.Fields("--iterations 20 --warm-up 0s --size 8,3000")

// badInput is a command line that is refused.
type badInput struct {
	args   string
	status int
	says   string
}

func (c badInput) check(t *testing.T) {
	t.Helper()
	status, out, errs := weft(strings.Fields(c.args)...)
	if status != c.status || !strings.Contains(errs, c.says) || out != "" {
		t.Errorf("weft %s: status %d, want %d with %q; it printed\n%s%s", c.args, status, c.status, c.says, out, errs)
	}
	if strings.Count(errs, "\n") != 1 {
		t.Errorf("weft %s: not one line: %q", c.args, errs)
	}
}

func TestPerfBadInput(t *testing.T) {
	for _, c := range []badInput{
		{"perf", 2, "Say --local, or --serve on one side and --connect ADDRESS on the other"},
		{"perf --nonsense", 2, "unknown flag: --nonsense; 'weft perf --help' lists the flags"},
		{"perf --local --size 3XB", 2, `--size: "3XB": there is no unit "XB"`},
		{"perf --local --size 0", 2, "sizes begin at 1"},
		{"perf --local --size 4KiB..1KiB", 2, "a range goes upwards"},
		{"perf --local --size 65MiB", 2, "size 65 MiB cannot be measured: a message has 1 B to 64 MiB"},
		{"perf --local --size 8 --all", 2, "--size and --all exclude each other: leave one out"},
		{"perf --local --iterations 5 --duration 1s", 2, "--iterations and --duration exclude each other"},
		{"perf --local --iterations 0", 2, "--iterations 0 cannot be measured: it is at least 1"},
		{"perf --local --pairs 0", 2, "--pairs 0 cannot be measured: it is between 1 and 10000"},
		{"perf --local --batch 0", 2, "--batch 0 cannot be measured: it is between 1 and 1048576"},
		{"perf --local --peer-timeout 0s", 2, "--peer-timeout 0s: it is between 10ms and 1h0m0s"},
		{"perf bogus", 2, `there is no operation "bogus": there are write, read`},
		{"perf --local --provider warp", 2, `--provider "warp": there are auto, inproc, shm, ibv, tcp`},
		{"perf --local --provider tcp --device rxe0", 2, "--device rxe0 is an RDMA device, and --provider asks for tcp: leave one of them out"},
		{"perf --local --device rxe0:x", 2, `--device: "rxe0:x" is no RDMA device: write it as`},
		{"perf --local --port 5", 2, "--port is for --peer: here it stands in the address"},
		{"perf --peer other --connect x", 2, `--peer "other": there is pingpong`},
		{"perf --peer pingpong", 2, "is ibv_rc_pingpong the client or the server? Say --serve to wait for it, or --connect HOST"},
		{"perf --peer pingpong --local --connect x", 2, "--local means nothing to --peer pingpong: leave it out"},
		{"perf --peer pingpong --connect x --depth 3", 2, "--depth means nothing to --peer pingpong: leave it out"},
		{"perf --peer pingpong --connect x write", 2, `operation "write": --peer pingpong knows send only`},
		{"perf --peer pingpong --connect x --once", 2, "--once is for --serve"},
		{"perf --peer pingpong --connect x --provider tcp", 2, "provider tcp: --peer pingpong is met by provider ibv only"},
		{"perf --peer pingpong --connect x --size 1..8", 2, "--size: "},
		{"perf --peer pingpong --connect x --size 65MiB", 2, "a message has 1 B to 64 MiB"},
		{"perf --peer pingpong --connect x --iterations 0", 2, "--iterations 0 cannot be measured: it is between 1 and"},
		{"perf --peer pingpong --connect x --wait no", 2, "there is no way to wait"},
		{"perf --peer pingpong --connect x --peer-timeout 0s", 2, "--peer-timeout 0s: it is between"},
		{"perf --peer pingpong --connect unix:/x", 2, `"unix:/x" is no address: write host or host:port`},
		{"perf --peer pingpong --connect :99", 2, `":99" is no address: write host or host:port, 0.0.0.0 for all`},
		{"perf --peer pingpong --serve 0.0.0.0", 2, "--serve 0.0.0.0:18515: other hosts could reach it, and nothing is encrypted: add --plain to allow it"},
		{"perf --local fly", 2, `there is no operation "fly": there are write, read`},
		{"perf --local --measure speed", 2, `--measure: there is no measure "speed": there are latency, bandwidth, both`},
		{"perf --local --wait no", 2, `--wait: there is no way to wait "no": there are polling, sleeping, hybrid`},
		{"perf --local --wait sleeping", 2, "a Write wakes nobody, so it is polled for; take writeimm or send, or wait polling"},
		{"perf --local --pin x", 2, `--pin "x": write cores as 0,1 or 0-3`},
		{"perf --local --pin 3-1", 2, "write cores as"},
		{"perf --local --provider inproc --pin 0,1000", 2, `--pin "0,1000": there is no core 1000 that this process may use`},
		{"perf --local --depth 0", 2, "depth 0 cannot be measured: it is between 1 and 16384"},
		{"perf --local --list 200", 2, "--list 200 cannot be measured: it is between 1 and 128, which is --depth"},
		{"perf --local --quiet-every 0", 2, "quiet-every 0 cannot be measured"},
		{"perf --local --threads 0", 2, "threads 0 cannot be measured"},
		{"perf --local --threads 4 --pairs 2", 2, "--pairs 2 cannot be measured: it is between 4 and 10000, one for each of --threads at least"},
		{"perf --local --pairs 10000", 2, "lower --pairs, or --size to 208 KiB"},
		{"perf --local --pairs 10000 --depth 1000 --size 8", 2, "they post 10000000 requests, at most 2097152; lower --depth to 209, or --pairs"},
		{"perf --local --iterations -1", 2, "iterations -1 cannot be measured"},
		{"perf --local --duration 0s", 2, "duration 0s cannot be measured"},
		{"perf --local --warm-up -1s", 2, "warm-up -1s cannot be measured"},
		{"perf --local --batch -1", 2, "batch -1 cannot be measured"},
		{"perf --local atomic --size 16", 2, "an atomic always has 8 bytes; leave --size out"},
		{"perf --local --connect x:1", 2, "--connect and --local exclude each other"},
		{"perf --local --once", 2, "--once is for --serve"},
		{"perf --connect=", 2, "an address is empty"},
		{"perf --connect 127.0.0.1:1 --provider inproc", 2, "provider inproc is within one process: it needs --local"},
		{"perf --serve --size 8", 2, "--size is said by the client, not with --serve"},
		{"perf --serve write", 2, `operation "write": the client says what is measured`},
		{"perf --serve=127.0.0.1:0 write", 2, `operation "write": the client says what is measured`},
	} {
		c.check(t)
	}
}

// A host without RDMA says so, where it was asked for.
func TestPerfWithoutRDMA(t *testing.T) {
	if lanes[2].usable("") == nil {
		t.Skip("this host has an RDMA device")
	}
	for _, args := range []string{"perf --local --provider ibv", "perf --local --device mlx5_0:1", "perf --serve --provider ibv",
		"perf --peer pingpong --connect 127.0.0.1", "perf --peer pingpong --serve"} {
		badInput{args, 1, "weft: provider ibv: "}.check(t)
	}
}

func TestWithPort(t *testing.T) {
	for address, want := range map[string]string{"host": "host:7", "10.9.0.1": "10.9.0.1:7", "10.9.0.1:9": "10.9.0.1:9", "fe80::1%eth0": "", "::1": "[::1]:7",
		"[::1]": "[::1]:7", "[::1]:9": "[::1]:9", "a:b:c": "", "": "", "a/b": ""} {
		if got, err := withPort(address, 7); got != want || (err == nil) != (want != "") {
			t.Errorf("%q becomes %q, %v; want %q", address, got, err, want)
		}
	}
}

func TestOrPerfPort(t *testing.T) {
	for address, want := range map[string]string{"host": "host:7471", "::1": "[::1]:7471", "host:9": "host:9", "unix:/a": "unix:/a", "unix:@a": "unix:@a", "": "", ":9": ":9"} {
		if got := orPerfPort(address); got != want {
			t.Errorf("%q becomes %q, not %q", address, got, want)
		}
	}
}

func TestPerfBadAddress(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	for _, c := range []badInput{
		{"perf --serve " + busy.Addr().String(), 1, "address already in use: stop what listens there, or choose another address"},
		{"perf --serve 192.0.2.1:99", 2, "other hosts could reach it, and nothing is encrypted: add --plain to allow it"},
		{"perf --serve 192.0.2.1:99 --plain", 1, "192.0.2.1:99"},
		{"perf --serve 192.0.2.1", 2, "--serve 192.0.2.1:7471: other hosts could reach it"},
		{"perf --serve non/sense", 2, `"non/sense" is no address: write host:port`},
		{"perf --connect non/sense", 2, `"non/sense" is no address: write host:port`},
		{"perf --connect host:", 2, `"host:" is no address: write host:port`},
		{"perf --connect " + free.Addr().String(), 1, "nobody listens there; start the other end first"},
		{"perf --connect unix:" + t.TempDir() + "/none", 1, "nobody listens there; start the other end first"},
		{"doctor now", 2, `doctor takes no argument "now"`},
	} {
		c.check(t)
	}
}

func TestPerfProviderFromEnvironment(t *testing.T) {
	t.Setenv("WEFT_PROVIDER", "warp")
	if status, _, errs := weft("perf", "--local"); status != 2 || !strings.Contains(errs, `WEFT_PROVIDER "warp": there are auto`) {
		t.Errorf("status %d, %s", status, errs)
	}
	t.Setenv("WEFT_PROVIDER", "inproc")
	if status, out, errs := weft(append([]string{"perf", "--local"}, quick...)...); status != 0 || !strings.HasPrefix(out, "over inproc: ") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// A peer of another version is told apart from one that is none.
func TestPerfPeersThatAreNone(t *testing.T) {
	for _, c := range []struct{ greeting, says string }{
		{"weft\xff\xfe\x00\x00\x00\x00", "version"},
		{"HTTP/1.1 400 Bad Request\r\n\r\n", "not what a weft peer sends"},
		{"", "the peer closed the session"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096))
			conn.Write([]byte(c.greeting))
			conn.Close()
		}()
		status, _, errs := weft("perf", "--connect", listener.Addr().String())
		if status != 1 || !strings.Contains(errs, c.says) {
			t.Errorf("greeting %q: status %d, %s", c.greeting, status, errs)
		}
		listener.Close()
		<-done
	}
}

func TestPerfLocal(t *testing.T) {
	t.Setenv(asCommand, "1")
	for _, l := range usableLanes() {
		t.Run(l.name, func(t *testing.T) {
			args := append([]string{"perf", "--local", "--provider", l.name, "write", "read", "send", "writeimm", "atomic"}, quick...)
			status, out, errs := weft(args...)
			if status != 0 || errs != "" {
				t.Fatalf("status %d, %s%s", status, out, errs)
			}
			if !strings.HasPrefix(out, "over "+l.name+": ") {
				t.Errorf("which lane was used? %s", out)
			}
			// Two sizes of four operations, one of two.
			if n := strings.Count(out, "verified"); n != 2*4+2 {
				t.Errorf("%d rows are verified:\n%s", n, out)
			}
			for line := range strings.Lines(out) {
				if len([]rune(line)) > 81 {
					t.Errorf("a line of %d columns: %s", len([]rune(line))-1, line)
				}
			}
		})
	}
}

func TestPerfManyPairsAndThreads(t *testing.T) {
	t.Setenv(asCommand, "1")
	for _, l := range usableLanes() {
		t.Run(l.name, func(t *testing.T) {
			for _, wait := range []string{"sleeping", "hybrid"} {
				args := append(strings.Fields("perf --local --provider "+l.name+" --wait "+wait+
					" send read --threads 2 --pairs 5 --depth 16 --list 8 --quiet-every 16"), quick...)
				if status, out, errs := weft(args...); status != 0 || strings.Count(out, "verified") != 4 {
					t.Errorf("%s: status %d, %s%s", wait, status, out, errs)
				}
			}
		})
	}
}

// What is named twice is measured once.
func TestPerfNamedTwice(t *testing.T) {
	status, out, errs := weft(strings.Fields("perf --local --provider inproc write write --size 8,8 --measure bandwidth,bandwidth --iterations 1")...)
	if status != 0 || strings.Count(out, "verified") != 1 {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

func TestHelpFitsTheTerminal(t *testing.T) {
	for _, args := range []string{"--help", "perf --help", "multicast --help", "doctor --help", "demo --help", "doctor", "perf --local --provider inproc --iterations 10"} {
		_, out, _ := weft(strings.Fields(args)...)
		for line := range strings.Lines(out) {
			if n := len([]rune(line)) - 1; n > 80 {
				t.Errorf("weft %s: %d columns: %s", args, n, line)
			}
		}
	}
}

func TestProgressLine(t *testing.T) {
	p := &perfProgress{index: -1, pairs: 1000, runs: 2}
	if got := p.line(3 * time.Second); got != "setting up 1000 queue pairs, 3s" {
		t.Error(got)
	}
	p.begin(1, perftest.Run{Operation: perftest.Read, Measure: perftest.Latency, Size: 8})
	if got := p.line(3 * time.Second); got != "2 of 2: read latency 8 B, 3s" {
		t.Error(got)
	}
}

// shape replaces what differs from run to run: numbers by 0, and the given texts by "…".
func shape(v any, texts ...string) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			if slices.Contains(texts, key) {
				v[key] = "…"
			} else {
				v[key] = shape(v[key], texts...)
			}
		}
	case []any:
		for i := range v {
			v[i] = shape(v[i], texts...)
		}
	case float64:
		return 0
	}
	return v
}

// somePort is an RDMA device that is connected.
type somePort struct{ path ibv.Path }

func (somePort) Name() string         { return "rxe0:1" }
func (p somePort) LastPath() ibv.Path { return p.path }

// Who measures RDMA sees on which device, and between which GIDs, in the table and in JSON.
func TestPerfNamesTheDevice(t *testing.T) {
	connected := ibv.Path{Local: netip.MustParseAddr("10.9.0.1"), Remote: netip.MustParseAddr("10.9.0.2")}
	for _, c := range []struct {
		path       ibv.Path
		head, json string
	}{
		{connected, "over ibv: rxe0:1, GID 10.9.0.1 to 10.9.0.2\nwith bob\n", `"device":"rxe0:1","local_gid":"10.9.0.1","remote_gid":"10.9.0.2","server":"bob"`},
		{ibv.Path{}, "over ibv: RDMA device rxe0:1\nwith bob\n", `"device":"rxe0:1","server":"bob"`},
	} {
		for _, asJSON := range []bool{false, true} {
			var out strings.Builder
			m := newMeter(&perfSettings{asJSON: asJSON, mute: true, out: &out, errs: io.Discard})
			m.meet(lanes[2], somePort{c.path}, "bob", time.Second)
			m.begin(0, perftest.Run{})
			m.begin(1, perftest.Run{})
			want := c.head
			if asJSON {
				want = c.json
			}
			if err := m.finish(nil); err != nil || strings.Count(out.String(), want) != 1 {
				t.Errorf("%v: %q is not in\n%s", err, want, &out)
			}
		}
	}
}

func TestPerfSpeaksJSON(t *testing.T) {
	status, out, errs := weft(strings.Fields("perf --local --provider inproc read --size 8 --iterations 20 --json")...)
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	var got any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	text, _ := json.MarshalIndent(shape(got, "weft"), "", "  ")
	golden := filepath.Join("testdata", "perf.json")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(text) {
		t.Errorf("the shape differs from %s:\n%s", golden, text)
	}
}

func TestPerfOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range []string{"perf --local --provider inproc", "perf --local --provider inproc --json", "doctor", "doctor --json"} {
		var errs strings.Builder
		words := strings.Fields(args)
		if words[0] == "perf" {
			words = append(words, quick...)
		}
		if status := run(context.Background(), words, brokenPipe{}, &errs); status != exitFailed || !strings.Contains(errs.String(), "broken pipe") {
			t.Errorf("%s: status %d, %s", args, status, &errs)
		}
	}
}
