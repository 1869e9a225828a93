package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asCommand in the environment makes the test binary the command: what it starts as a child of itself is weft.
const asCommand = "WEFT_TEST_AS_COMMAND"

// quick is a measurement that takes no time.
var quick = strings.Fields("--iterations 20 --warm-up 0s --size 8,3000")

// usable skips a test of a lane that does not work here.
func usable(t *testing.T, name string) {
	t.Helper()
	l, err := laneNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := tryLane(t.Context(), l); err != nil {
		t.Skipf("lane %s: %v", name, err)
	}
}

func TestPerfBadInput(t *testing.T) {
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
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"perf", 2, "Say --local, or --serve on one side and --connect ADDRESS on the other"},
		{"perf --nonsense", 2, "unknown flag: --nonsense; 'weft perf --help' lists the flags"},
		{"perf --local --size 3XB", 2, `--size: "3XB": there is no unit "XB"`},
		{"perf --local --size 0", 2, "sizes begin at 1"},
		{"perf --local --size 4KiB..1KiB", 2, "a range goes upwards"},
		{"perf --local --size 65MiB", 2, "size 65 MiB cannot be measured: a message has 1 B to 64 MiB"},
		{"perf --local --size 8 --all", 2, "--size and --all exclude each other: leave one out"},
		{"perf --local --iterations 5 --duration 1s", 2, "--iterations and --duration exclude each other"},
		{"perf --local --provider ibv", 2, `--provider "ibv": there are auto, inproc, shm, tcp`},
		{"perf --local fly", 2, `there is no operation "fly": there are write, read`},
		{"perf --local --measure speed", 2, `--measure: there is no measure "speed": there are latency, bandwidth`},
		{"perf --local --wait no", 2, `--wait: there is no way to wait "no": there are polling, sleeping, hybrid`},
		{"perf --local --wait sleeping", 2, "a Write wakes nobody, so it is polled for; take writeimm or send, or wait polling"},
		{"perf --local --pin x", 2, `--pin "x": write cores as 0,1 or 0-3`},
		{"perf --local --pin 3-1", 2, "write cores as"},
		{"perf --local --provider inproc --pin 0,1000", 2, `--pin "0,1000": there is no core 1000 that this process may use`},
		{"perf --local --depth 0", 2, "depth 0 cannot be measured: it is between 1 and 16384"},
		{"perf --local --list 200", 2, "list 200 cannot be measured: it is between 1 and 128"},
		{"perf --local --quiet-every 0", 2, "quiet-every 0 cannot be measured"},
		{"perf --local --threads 0", 2, "threads 0 cannot be measured"},
		{"perf --local --threads 4 --pairs 2", 2, "pairs 2 cannot be measured: it is between 4 and 10000"},
		{"perf --local --pairs 10000", 2, "lower pairs or size"},
		{"perf --local --pairs 10000 --depth 1000 --size 8", 2, "lower one of them"},
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
		{"perf --serve=127.0.0.1:0 write", 2, `operation "write": the client says what is measured`},
		{"perf --serve " + busy.Addr().String(), 1, "address already in use: stop what listens there, or choose another address"},
		{"perf --serve 192.0.2.1:99", 2, "other hosts could reach it, and nothing is encrypted: add --plain to allow it"},
		{"perf --serve 192.0.2.1:99 --plain", 1, "192.0.2.1:99"},
		{"perf --serve nonsense", 2, `"nonsense" is no address: write host:port`},
		{"perf --connect nonsense", 2, `"nonsense" is no address: write host:port`},
		{"perf --connect " + free.Addr().String(), 1, "nobody listens there; start the other end first"},
		{"perf --connect unix:" + t.TempDir() + "/none", 1, "nobody listens there; start the other end first"},
		{"doctor now", 2, `doctor takes no argument "now"`},
	} {
		status, out, errs := weft(strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("weft %s: status %d, want %d with %q; it printed\n%s%s", c.args, status, c.status, c.says, out, errs)
		}
		if strings.Count(errs, "\n") != 1 {
			t.Errorf("weft %s: not one line: %q", c.args, errs)
		}
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
	for _, l := range lanes {
		t.Run(l.name, func(t *testing.T) {
			usable(t, l.name)
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
				if len([]rune(line)) > 101 {
					t.Errorf("a line of %d columns: %s", len([]rune(line))-1, line)
				}
			}
		})
	}
}

func TestPerfManyPairsAndThreads(t *testing.T) {
	t.Setenv(asCommand, "1")
	for _, l := range lanes {
		t.Run(l.name, func(t *testing.T) {
			usable(t, l.name)
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

// command is the test binary as weft.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// An interrupted measurement prints what it has, and leaves no child behind.
func TestPerfInterrupted(t *testing.T) {
	for _, l := range lanes {
		for _, asJSON := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s json=%v", l.name, asJSON), func(t *testing.T) {
				usable(t, l.name)
				for after := 500 * time.Millisecond; !interruptPerf(t, l.name, asJSON, after); after *= 4 {
					if after > time.Minute {
						t.Fatal("no partial result, however long it ran")
					}
				}
			})
		}
	}
}

// interruptPerf interrupts a measurement after some time, and reports whether it had got far enough to have a result.
func interruptPerf(t *testing.T, lane string, asJSON bool, after time.Duration) bool {
	t.Helper()
	cmd := command(t, "perf", "--local", "--provider", lane, "--duration", "1h", "--size", "8", fmt.Sprintf("--json=%v", asJSON))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	time.Sleep(after) // whenever it comes, the end must be clean
	children := childrenOf(pid)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted {
		t.Errorf("status %d, %s%s", status, &out, &errs)
	}
	if errs.String() != "weft: interrupted\n" {
		t.Errorf("it says %q", &errs)
	}
	for _, child := range children {
		if lives(child) {
			t.Errorf("child %d lives on", child)
		}
	}
	if asJSON {
		return strings.Contains(out.String(), `"interrupted":true`) && strings.Contains(out.String(), `"partial":true`)
	}
	return strings.Contains(out.String(), "partial\n")
}

// lives reports whether a process runs: one that nobody has waited for does not.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// The server of --local ends also when its client is killed, and nothing stays behind.
func TestPerfKilled(t *testing.T) {
	before := leftovers(t)
	cmd := command(t, "perf", "--local", "--provider", "shm", "--duration", "1h")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var children []int
	for deadline := time.Now().Add(20 * time.Second); len(children) == 0 && time.Now().Before(deadline); {
		children = childrenOf(cmd.Process.Pid)
	}
	time.Sleep(200 * time.Millisecond) // into the measurement
	cmd.Process.Kill()
	cmd.Wait()
	if len(children) != 1 {
		t.Fatalf("children: %v", children)
	}
	for deadline := time.Now().Add(20 * time.Second); lives(children[0]); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("child %d lives on", children[0])
		}
	}
	if after := leftovers(t); !slices.Equal(after, before) {
		t.Errorf("before there were %v, now there are %v", before, after)
	}
}

// leftovers are files of ours where temporary files are.
func leftovers(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"/dev/shm/*weft*", filepath.Join(os.TempDir(), "*weft*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

// childrenOf lists the processes that a process has started.
func childrenOf(pid int) (children []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range threads {
		more, _ := os.ReadFile(file)
		text = append(text, more...)
	}
	for _, word := range strings.Fields(string(text)) {
		var child int
		fmt.Sscan(word, &child)
		if !slices.Contains(children, child) {
			children = append(children, child)
		}
	}
	return children
}

// A server answers one client after the other, also after one that has failed.
func TestPerfServeAndConnect(t *testing.T) {
	server := command(t, "perf", "--serve", "127.0.0.1:0", "--json")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		server.Process.Signal(os.Interrupt)
		server.Wait()
		if status := server.ProcessState.ExitCode(); status != exitInterrupted {
			t.Errorf("the server's status is %d", status)
		}
	}()
	events := json.NewDecoder(out)
	var listening serverEvent
	if err := events.Decode(&listening); err != nil || listening.Event != "listening" {
		t.Fatalf("%+v, %v", listening, err)
	}
	for _, name := range []string{"auto", "shm", "auto"} {
		args := append([]string{"perf", "--connect", listening.Address, "--provider", name, "writeimm"}, quick...)
		status, said, errs := weft(args...)
		if status != 0 || strings.Count(said, "verified") != 2 {
			t.Errorf("%s: status %d, %s%s", name, status, said, errs)
		}
	}
}

func TestPerfServerEndsWithItsInput(t *testing.T) {
	server := command(t, "perf", "--serve=unix:@weft-test-"+fmt.Sprint(os.Getpid()), "--child")
	input, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	input.Close()
	server.Wait()
	if server.ProcessState.ExitCode() < 0 {
		t.Errorf("it ended as %v", server.ProcessState)
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
