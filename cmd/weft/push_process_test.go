package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

// pushed runs a command line as a process of its own, with folders of its own, and returns how it ended.
func pushed(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return ended(t, cmd), stdout.String(), stderr.String()
}

// tree is a directory with a few files.
func tree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	put(t, filepath.Join(dir, "large"), strings.Repeat("weft", 1<<18))
	put(t, filepath.Join(dir, "below", "small"), "hello")
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// same reports where two trees differ.
func same(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("diff", "-r", "--no-dereference", from, to).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// freshFolders has processes leave everything where nobody else does.
func freshFolders(t *testing.T) (temporary string) {
	temporary = t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return temporary
}

// empty reports what was left in a directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// Agents that are started here get a tree, byte for byte, and nothing stays behind of them.
func TestPushLocal(t *testing.T) {
	temporary, source := freshFolders(t), tree(t)
	status, out, errs := pushed(t, "push", source, "--local", "3")
	if status != 0 || !strings.Contains(out, "all 3 hosts have it, verified: 2 files, 1.05 MB\n") || !strings.Contains(errs, "plan ") {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	empty(t, temporary)

	status, _, errs = pushed(t, "push", source, "--local", "3", "--keep", "--quiet")
	dir, found := strings.CutPrefix(strings.TrimSpace(errs), "weft: what was made is in ")
	if status != 0 || !found {
		t.Fatalf("status %d, %s", status, errs)
	}
	for _, node := range []string{"node1", "node2", "node3"} {
		same(t, source, filepath.Join(dir, node, "tree"))
	}
	if status, out, errs := pushed(t, "explain", "--last"); status != 0 || !strings.Contains(out, "→") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// Without a source, a file is made up that nobody has seen before, and is gone afterwards: that is what make run shows.
func TestPushLocalMakesUpAFile(t *testing.T) {
	freshFolders(t)
	t.Setenv("TMPDIR", "") // so that it goes into memory, if there is room
	status, out, errs := pushed(t, "push", "--local", "2")
	if status != 0 || !strings.Contains(out, "both hosts have it, verified: 1 file, 268 MB\n") {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	line, _, _ := strings.Cut(errs, "\n")
	dir, said := strings.CutPrefix(line, "starting 2 agents in ")
	if _, err := os.Lstat(dir); !said || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%q is left over: %v; %s", dir, err, errs)
	}
}

// What is made up has its size, and is something else every time.
func TestMakeUp(t *testing.T) {
	seen := make(map[string]bool)
	for range 3 {
		path := filepath.Join(t.TempDir(), "made")
		if err := makeUp(path, 1000); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) != 1000 || seen[string(text)] {
			t.Errorf("%d bytes, %v, seen before: %v", len(text), err, seen[string(text)])
		}
		seen[string(text)] = true
	}
}

// Programs get an event a line, of which the last is the report.
func TestPushLocalSpeaksJSON(t *testing.T) {
	temporary := freshFolders(t)
	status, out, errs := pushed(t, "push", tree(t), "--local", "2", "--json")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	var last push.Event
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		last = push.Event{}
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
	}
	if last.Kind != push.EventReport || last.Report == nil || last.Report.Exit != 0 || len(last.Report.Hosts) != 2 || last.Report.Root == "" {
		t.Errorf("%+v", last)
	}
	empty(t, temporary)
}

// A dry run, and an explanation, change nothing.
func TestPushLocalDryRun(t *testing.T) {
	temporary, source := freshFolders(t), tree(t)
	status, out, errs := pushed(t, "push", source, "--local", "2", "-n", "--keep")
	if status != 0 || !strings.Contains(out, "2 of 2 hosts could take it; nothing was changed\n") {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "*", "node1", "*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	status, out, errs = pushed(t, "explain", source, "--local", "2")
	if status != 0 || !strings.Contains(out, "The schedule, for ") || !strings.Contains(out, "member 2") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	if status, out, errs := pushed(t, "explain", source, "--local", "2", "-q"); status != 0 || out+errs != "" {
		t.Errorf("-q: status %d, %s%s", status, out, errs)
	}
}

// slowPush starts a push that takes long, and waits until it sends.
func slowPush(t *testing.T) (cmd *exec.Cmd, said *lines) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "large")
	put(t, file, strings.Repeat("0123456789abcdef", 1<<20))
	said = &lines{}
	cmd = command(t, "push", file, "--local", "2", "--bwlimit", "500kB", "--provider", "tcp")
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said.await(t, "sending\n")
	return cmd, said
}

// The first Ctrl-C asks how it goes; two within a second stop it, with nothing left.
func TestPushLocalInterrupted(t *testing.T) {
	temporary := freshFolders(t)
	cmd, said := slowPush(t)
	cmd.Process.Signal(os.Interrupt)
	said.await(t, "Ctrl-C again within a second stops it\n")
	if !strings.Contains(said.String(), "node[1-2]: receiving\n") {
		t.Error(said.String())
	}
	cmd.Process.Signal(os.Interrupt)
	if status := ended(t, cmd); status != push.ExitInterrupted || !strings.Contains(said.String(), "interrupted: 0 of 2 hosts have it\n") {
		t.Errorf("status %d, %s", status, said)
	}
	empty(t, temporary)
}

// What a pusher leaves that was killed is removed by the next one, and nothing that somebody still uses or wants to keep.
func TestPushLocalSweeps(t *testing.T) {
	temporary, source := freshFolders(t), tree(t)
	if status, _, errs := pushed(t, "push", source, "--local", "1", "--keep", "-q"); status != 0 {
		t.Fatalf("status %d, %s", status, errs)
	}
	inUse, _ := slowPush(t)
	dead, _ := slowPush(t)
	folders := func() int {
		t.Helper()
		all, err := os.ReadDir(temporary)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if err := os.Mkdir(filepath.Join(temporary, "weft-local-thesis"), 0o700); err != nil { // somebody else's
		t.Fatal(err)
	}
	defer os.Remove(filepath.Join(temporary, "weft-local-thesis"))
	dead.Process.Kill()
	ended(t, dead)
	if n := folders() - 1; n != 3 {
		t.Fatalf("%d folders, want what is kept, what is in use, and what is left", n)
	}
	if status, _, errs := pushed(t, "push", source, "--local", "1", "-q"); status != 0 {
		t.Fatalf("status %d, %s", status, errs)
	}
	if n := folders() - 1; n != 2 {
		t.Errorf("%d folders, want what is kept and what is in use", n)
	}
	inUse.Process.Signal(syscall.SIGTERM)
	ended(t, inUse)
	if n := folders() - 1; n != 1 {
		t.Errorf("%d folders, want what is kept", n)
	}
}

// Who does not want to wait for the end, either, leaves as little behind.
func TestPushLocalEndsAtOnce(t *testing.T) {
	temporary := freshFolders(t)
	cmd, said := slowPush(t)
	for _, agent := range childrenOf(cmd.Process.Pid) { // so that the end takes its time
		if err := syscall.Kill(agent, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	for _, word := range []string{"Ctrl-C again within a second stops it\n", "weft: ending; another Ctrl-C ends at once\n"} {
		cmd.Process.Signal(os.Interrupt)
		said.await(t, word)
	}
	cmd.Process.Signal(os.Interrupt)
	if status := ended(t, cmd); status != exitSignal+int(syscall.SIGINT) || strings.Contains(said.String(), "hosts have it") {
		t.Errorf("status %d, %s", status, said)
	}
	empty(t, temporary)
}

// Who has said Ctrl-C hears what another one does; who has said SIGTERM reads a log, and finds nothing in it that does not belong there.
func TestWhoHearsHowToEndAtOnce(t *testing.T) {
	for number, want := range map[syscall.Signal]string{syscall.SIGINT: "weft: ending; another Ctrl-C ends at once\n", syscall.SIGTERM: ""} {
		var errs lines
		ctx, stop := untilSignal(&errs)
		if err := syscall.Kill(os.Getpid(), number); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		time.Sleep(endingTime + 200*time.Millisecond)
		if stop(); errs.String() != want {
			t.Errorf("%v: %q", number, &errs)
		}
	}
}

func TestPushLocalTerminated(t *testing.T) {
	temporary := freshFolders(t)
	cmd, said := slowPush(t)
	cmd.Process.Signal(syscall.SIGTERM)
	if status := ended(t, cmd); status != exitSignal+int(syscall.SIGTERM) || !strings.Contains(said.String(), "interrupted: 0 of 2 hosts have it\n") {
		t.Errorf("status %d, %s", status, said)
	}
	empty(t, temporary)
}

// agentAt starts an agent, and returns its root and where it listens.
func agentAt(t *testing.T, keys string) (root, address string) {
	t.Helper()
	root = t.TempDir()
	return root, runAgent(t, command(t, "agent", "--root", root, "--keys", keys, "--listen", "127.0.0.1:0", "--json"))
}

// runAgent runs an agent until the test ends, and returns where it listens.
func runAgent(t *testing.T, cmd *exec.Cmd) (address string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var ready agentEvent
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	return ready.Address
}

// An agent that runs already is pushed to again and again: what is there is left alone, what is different is not replaced unless that
// is wanted, who is not there is named.
func TestPushToAgents(t *testing.T) {
	freshFolders(t)
	dir, source, failed := t.TempDir(), tree(t), filepath.Join(t.TempDir(), "failed")
	keysJSON(t, "make", dir, "127.0.0.1", "127.0.0.2", "--push")
	root, here := agentAt(t, keyPath(dir, "127.0.0.1"))
	run := func(want int, command string, args ...string) string {
		t.Helper()
		status, out, errs := pushed(t, append([]string{command, source, ".", "--keys", keyPath(dir, "pusher"), "--failed-hosts", failed}, args...)...)
		if status != want {
			t.Errorf("%s %q: status %d, want %d; %s%s", command, args, status, want, out, errs)
		}
		return out
	}
	run(push.ExitOK, "push", "-w", here)
	same(t, source, filepath.Join(root, "tree"))
	if out := run(push.ExitOK, "push", "-w", here); !strings.Contains(out, "in place   the 2 files and links were there already\n") {
		t.Error(out)
	}
	run(push.ExitOK, "verify", "-w", here)

	put(t, filepath.Join(source, "below", "small"), "something else")
	if out := run(push.ExitIntegrity, "verify", "-w", here); !strings.Contains(out, here+": different: ") || !strings.Contains(out, "small") {
		t.Error(out)
	}
	run(push.ExitPreflight, "push", "-w", here)
	nobody := "127.0.0.2:1"
	run(push.ExitPartial, "push", "-f", "-w", here+","+nobody)
	same(t, source, filepath.Join(root, "tree"))
	if text, err := os.ReadFile(failed); string(text) != nobody+"\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	run(push.ExitNoHost, "push", "-w", "^"+failed)
	source = "/no/such/file"
	run(push.ExitSource, "push", "-w", here)
}

// lines is what a process has said so far.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until something was said.
func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(l.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not say %q: %s", text, l)
		}
	}
}

// A host gets a tree from another one, which is known by its certificate and listens nowhere.
func TestPushBetweenHosts(t *testing.T) {
	n := twoHosts(t)
	temporary := freshFolders(t)
	dir, source, root := t.TempDir(), tree(t), t.TempDir()
	keysJSON(t, "make", dir, n.Address(0), "--push")
	runAgent(t, weftOn(t, n, 0, "agent", "--root", root, "--keys", keyPath(dir, n.Address(0)), "--listen", n.Address(0)+":7470", "--json"))
	for _, flags := range [][]string{nil, {"--plain", "--checksum", "-f"}} {
		pusher := weftOn(t, n, 1, append([]string{"push", source, ".", "-w", n.Address(0), "--keys", keyPath(dir, "pusher")}, flags...)...)
		if said, err := pusher.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		same(t, source, filepath.Join(root, "tree"))
		if left := partialsOf(t, root); len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	}
	empty(t, temporary)
}
