package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
	for _, l := range usableLanes() {
		for _, asJSON := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s json=%v", l.name, asJSON), func(t *testing.T) {
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
	if status := cmd.ProcessState.ExitCode(); status != exitSignal+int(syscall.SIGINT) {
		t.Errorf("status %d, %s%s", status, &out, &errs)
	}
	if !strings.HasSuffix(complaint(strings.TrimSpace(errs.String())), "interrupted") {
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
	t.Setenv("TMPDIR", t.TempDir()) // where nobody else leaves anything meanwhile
	cmd := command(t, "perf", "--local", "--provider", "shm", "--duration", "1h")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var children []int
	for deadline := time.Now().Add(20 * time.Second); len(children) == 0 && time.Now().Before(deadline); {
		children = childrenOf(cmd.Process.Pid)
	}
	time.Sleep(200 * time.Millisecond) // into the measurement
	shared := sharedFiles(append(children, cmd.Process.Pid)...)
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
	nothingLeft(t, shared)
}

// sharedFiles are the files in /dev/shm that processes have open or mapped. What else is there may be of others on this machine.
func sharedFiles(pids ...int) (paths []string) {
	for _, pid := range pids {
		held, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)) // one that has ended holds nothing
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			target, _ := os.Readlink(file)
			held = append(held, " "+target...)
		}
		for _, word := range strings.Fields(string(held)) {
			if strings.HasPrefix(word, "/dev/shm/") && !slices.Contains(paths, word) {
				paths = append(paths, word)
			}
		}
	}
	return paths
}

// nothingLeft fails the test if processes that have ended left files in TMPDIR, which is the test's own, or those in shared memory.
func nothingLeft(t *testing.T, shared []string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range shared {
		if _, err := os.Stat(path); err == nil {
			left = append(left, path)
		}
	}
	if len(left) > 0 {
		t.Errorf("they have left %q", left)
	}
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
		if status := server.ProcessState.ExitCode(); status != exitSignal+int(syscall.SIGINT) {
			t.Errorf("the server's status is %d", status)
		}
	}()
	events := json.NewDecoder(out)
	var listening serverEvent
	if err := events.Decode(&listening); err != nil || listening.Event != "listening" {
		t.Fatalf("%+v, %v", listening, err)
	}
	if conn, err := net.Dial("tcp", listening.Address); err == nil {
		conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		conn.Close()
	}
	var refused serverEvent
	if err := events.Decode(&refused); err != nil || refused.Event != "refused" || refused.Error == "" {
		t.Fatalf("%+v, %v", refused, err)
	}
	for _, name := range []string{"auto", "tcp", "auto"} {
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

// A server that is interrupted in the middle of a client's row ends soon, and the client with it, saying why and with the
// rows that it has. Both are given far less time than the 30 s after which either would give up by itself.
func TestPerfServerInterrupted(t *testing.T) {
	for _, c := range []struct {
		lane   string
		signal syscall.Signal
	}{{"shm", syscall.SIGINT}, {"tcp", syscall.SIGTERM}} {
		t.Run(c.lane, func(t *testing.T) {
			server := command(t, "perf", "--serve", "127.0.0.1:0", "--json")
			events := startWithEvents(t, server)
			client := command(t, "perf", "--connect", events.next(t, "listening").Address, "--provider", c.lane, "--duration", "1h", "--size", "8", "--json")
			var out, errs bytes.Buffer
			client.Stdout, client.Stderr = &out, &errs
			if err := client.Start(); err != nil {
				t.Fatal(err)
			}
			events.next(t, "client")
			time.Sleep(200 * time.Millisecond) // into the row, mostly; whenever it comes, the end must be clean
			begin := time.Now()
			server.Process.Signal(c.signal)
			client.Wait()
			server.Wait()
			if took := time.Since(begin); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if status := server.ProcessState.ExitCode(); status != exitSignal+int(c.signal) {
				t.Errorf("the server's status is %d", status)
			}
			if status := client.ProcessState.ExitCode(); status != exitFailed || !strings.Contains(out.String(), `"results":[`) {
				t.Errorf("the client's status is %d; %s%s", status, &out, &errs)
			}
			t.Logf("%s", &errs)
		})
	}
}

// serverEvents are what a server says.
type serverEvents struct{ *json.Decoder }

func startWithEvents(t *testing.T, server *exec.Cmd) serverEvents {
	t.Helper()
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	return serverEvents{json.NewDecoder(out)}
}

func (s serverEvents) next(t *testing.T, want string) (e serverEvent) {
	t.Helper()
	if err := s.Decode(&e); err != nil || e.Event != want {
		t.Fatalf("%+v, %v; want %q", e, err, want)
	}
	return e
}

// Another server that wants the same socket is no client that was refused.
func TestPerfSecondServer(t *testing.T) {
	address := "unix:" + filepath.Join(t.TempDir(), "socket")
	server := command(t, "perf", "--serve", address, "--json")
	events := startWithEvents(t, server)
	events.next(t, "listening")
	if status, _, errs := weft("perf", "--serve", address); status != exitFailed || !strings.Contains(errs, "address already in use") {
		t.Errorf("status %d, %s", status, errs)
	}
	if status, _, errs := weft(append([]string{"perf", "--connect", address}, quick...)...); status != 0 {
		t.Errorf("status %d, %s", status, errs)
	}
	events.next(t, "client") // and nobody was refused before
	events.next(t, "done")
	server.Process.Signal(os.Interrupt)
	server.Wait()
}

// The second Ctrl-C does not wait for an orderly end, which a server that stands still keeps from coming. On a busy machine the
// client may not be that far, and end in order: then the next try comes later.
func TestPerfInterruptedTwice(t *testing.T) {
	errs := "interrupted"
	for after := 200 * time.Millisecond; strings.Contains(errs, "interrupted"); after *= 3 {
		if after > 20*time.Second {
			t.Fatalf("it ends in order, however late: %s", errs)
		}
		var status int
		if status, errs = interruptTwice(t, after); status != exitSignal+int(syscall.SIGINT) {
			t.Errorf("status %d, %s", status, errs)
		}
	}
}

// interruptTwice has the server of a measurement stand still after some time, interrupts its client until that ends, and
// returns how it did.
func interruptTwice(t *testing.T, after time.Duration) (status int, said string) {
	t.Helper()
	server := command(t, "perf", "--serve", "127.0.0.1:0", "--json")
	events := startWithEvents(t, server)
	defer func() { server.Process.Kill(); server.Wait() }()
	client := command(t, "perf", "--connect", events.next(t, "listening").Address, "--provider", "shm", "--duration", "1h", "--size", "8")
	var errs bytes.Buffer
	client.Stderr = &errs
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	events.next(t, "client")
	time.Sleep(after) // into the row, mostly
	server.Process.Signal(syscall.SIGSTOP)
	ended := make(chan struct{})
	go func() { defer close(ended); client.Wait() }()
	for {
		client.Process.Signal(os.Interrupt)
		select {
		case <-ended:
			return client.ProcessState.ExitCode(), errs.String()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
