package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		misbehave()
		main() // exits
	}
	_ = flag.Set("test.parallel", "4") // those that are parallel wait most of the time
	leaktest.Main(m)
}

// weft runs one command line.
func weft(args ...string) (status int, out, errs string) {
	var stdout, stderr strings.Builder
	status = run(context.Background(), args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		says   string // in one of the outputs
	}{
		{"", 0, "Available Commands"},
		{"--help", 0, "deterministic simulator"},
		{"version", 0, "weft unreleased"},
		{"version", 0, "load RDMA)"},
		{"version --json", 0, `"providers":["inproc","shm","ibv","tcp","sim"]`},
		{"--version", 0, "weft version unreleased"},
		{"help demo", 0, "Bob writes into alice's memory"},
		{"help", 0, "Available Commands"},
		{"completion", 0, "Available Commands"},
		{"__complete demo --provider ", 0, "inproc"},
		{"help nonsense", 2, `there is no command "nonsense"`},
		{"completion tcsh", 2, `there is no command "tcsh"; 'weft completion --help' lists them`},
		{"completion bash now", 2, `bash takes no argument "now"`},
		{"completion bash", 0, "__start_weft"},
		{"demo --help", 0, "Bob writes into alice's memory"},
		{"nonsense", 2, `there is no command "nonsense"; 'weft --help' lists them`},
		{"version now", 2, `version takes no argument "now"`},
		{"version --nonsense", 2, "unknown flag: --nonsense; 'weft version --help' lists the flags"},
		{"demo --provider ibv", 2, `--provider "ibv": there are inproc, sim and all`},
	} {
		args := strings.Fields(c.args)
		if strings.HasSuffix(c.args, " ") {
			args = append(args, "")
		}
		status, out, errs := weft(args...)
		if status != c.status || !strings.Contains(out+errs, c.says) {
			t.Errorf("weft %s: status %d, want %d with %q; it printed\n%s%s", c.args, status, c.status, c.says, out, errs)
		}
		if (status == 0) != (errs == "") && !strings.HasPrefix(c.args, "__complete") {
			t.Errorf("weft %s: status %d, and on stderr %q", c.args, status, errs)
		}
	}
}

func TestDemoTellsTheStory(t *testing.T) {
	for _, provider := range []string{"inproc", "sim"} {
		status, out, errs := weft("demo", "--provider", provider)
		if status != 0 {
			t.Fatalf("%s: status %d, %s", provider, status, errs)
		}
		at := 0
		for _, want := range []string{`writes "hello from bob"`, "OK", `finds "hello from bob"`, "revokes", `"still there?"`,
			"RemoteInvalid", `still finds "hello from bob"; her end is Error, bob's is Error`, `finds "friends again"`} {
			next := strings.Index(out[at:], want)
			if next < 0 {
				t.Fatalf("%s: after byte %d there is no %q in\n%s", provider, at, want, out)
			}
			at += next + len(want)
		}
	}
}

// The simulator's story is the same, to the nanosecond, every time.
func TestSimulatedDemoRepeats(t *testing.T) {
	_, first, _ := weft("demo", "--provider", "sim")
	_, second, _ := weft("demo", "--provider", "sim")
	if first != second || !strings.Contains(first, "Timeline") {
		t.Errorf("two runs differ:\n%s\n%s", first, second)
	}
}

func TestDemoSpeaksJSON(t *testing.T) {
	_, out, _ := weft("demo", "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	refused := 0
	for _, line := range lines {
		var event struct{ Provider, Status string }
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Provider == "" {
			t.Fatalf("%q: %v", line, err)
		}
		if event.Status == "RemoteInvalid" {
			refused++
		}
	}
	if refused < 2 {
		t.Errorf("%d refused writes in %d events", refused, len(lines))
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs strings.Builder
	if status := run(ctx, []string{"demo", "--provider", "inproc"}, &out, &errs); status != exitSignal+int(syscall.SIGINT) {
		t.Errorf("status %d, %s", status, &errs)
	}
}

// brokenPipe fails to take anything.
type brokenPipe struct{}

var errBrokenPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errBrokenPipe }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"demo"}, {"--help"}, {"call", "--help"}, {"help", "call"}, {"keys"}} {
		var errs strings.Builder
		if status := run(context.Background(), args, brokenPipe{}, &errs); status != exitFailed || errs.String() != "weft: broken pipe\n" {
			t.Errorf("%q: status %d, %s", args, status, &errs)
		}
	}
}

// Help fits into a terminal of 80 columns.
func TestHelpFitsATerminal(t *testing.T) {
	for _, cmd := range allCommands(newRoot(io.Discard, io.Discard)) {
		status, out, errs := weft(append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		if status != 0 {
			t.Errorf("%s --help: %d, %q", cmd.CommandPath(), status, errs)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s --help has a line of %d columns: %q", cmd.CommandPath(), n, line)
			}
		}
	}
}

// allCommands are a command and those below it, but for those of cobra.
func allCommands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		if below.Name() != "completion" {
			all = append(all, allCommands(below)...)
		}
	}
	return all
}
