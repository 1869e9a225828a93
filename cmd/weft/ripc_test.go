package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
)

// startEcho starts services in a process of their own, and returns when they are ready.
func startEcho(t *testing.T, directory string, names ...string) *exec.Cmd {
	t.Helper()
	return startEchoAt(t, append([]string{"--directory", directory}, names...)...)
}

func startEchoAt(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"serve-echo", "--json"}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ready echoEvent
	if err := json.NewDecoder(out).Decode(&ready); err != nil || ready.Event != "ready" || len(ready.At) != 1 {
		t.Fatalf("%+v: %v", ready, err)
	}
	return cmd
}

func TestServicesCallEachOther(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "services")
	echo := startEcho(t, directory, "greeter", "kv/3")
	if status, out, errs := weft("services", "--directory", directory); status != 0 || !strings.Contains(out, "greeter") || !strings.Contains(out, "kv/3") {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	if status, out, errs := weft("call", "greeter", "--data", "hello", "--directory", directory); status != 0 || out != "hello" {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	var answer callReport
	large := bytes.Repeat([]byte("0123456789"), 100_000)
	var stdout, stderr bytes.Buffer
	root := newRoot(&stdout, &stderr)
	root.SetIn(bytes.NewReader(large))
	root.SetArgs([]string{"call", "kv/3", "--data", "-", "--json", "--directory", directory})
	if err := root.ExecuteContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil || !answer.Long || !bytes.Equal(answer.Answer, large) {
		t.Errorf("%d bytes came back, long %t: %v", len(answer.Answer), answer.Long, err)
	}
	if status, _, errs := weft("serve-echo", "greeter", "--directory", directory); status != 1 || !strings.Contains(errs, "is taken") || strings.Count(errs, "greeter") != 1 {
		t.Errorf("a name that is taken: %d, %q", status, errs)
	}
	if err := echo.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = echo.Wait()
	if code := echo.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit status %d after SIGTERM", code)
	}
	if status, out, errs := weft("services", "--directory", directory); status != 0 || !strings.Contains(out, "There are none") {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	if status, _, errs := weft("call", "greeter", "--directory", directory); status != 1 || !strings.Contains(errs, "no such service") {
		t.Errorf("%d, %q", status, errs)
	}
}

func TestCallNeedsAName(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("a", 256), "a\nb", "a\x1b[2J", "a\xff"} {
		for _, command := range []string{"call", "serve-echo"} {
			if status, _, errs := weft(command, name, "--directory", t.TempDir()); status != 2 || !strings.Contains(errs, strconv.Quote(name)+" is not a service name") {
				t.Errorf("%s %q: %d, %q", command, name, status, errs)
			}
		}
	}
}

func TestWhatServicesDoNotTake(t *testing.T) {
	for _, args := range [][]string{{"serve-echo", "a", "a"}, {"services", "a"}, {"serve-echo"}, {"call", "a", "b"}} {
		if status, _, errs := weft(append(args, "--directory", t.TempDir())...); status != 2 {
			t.Errorf("%q: %d, %q", args, status, errs)
		}
	}
}

// A variable that is not set must not make a process that trusts everybody, nor one that looks elsewhere.
func TestEmptyFlagsOfServicesAreRefused(t *testing.T) {
	for _, flag := range []string{"--directory", "--lan", "--lan-key", "--etcd", "--etcd-keys", "--listen", "--keys"} {
		if status, _, errs := weft("services", flag, ""); status != 2 || !strings.Contains(errs, flag+" is empty") {
			t.Errorf("%s: %d, %q", flag, status, errs)
		}
	}
}

// Who has called a service by its name is not told of it by its ID.
func TestAServiceThatFailsIsNamed(t *testing.T) {
	err := noService("kv/3", fmt.Errorf("call: %w", &ripc.FailedError{Service: ripc.Name("kv/3"), Text: "no such key"}))
	if got, want := err.Error(), `service "kv/3" failed: no such key`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A program that has got no answer hears whether it was its fault, and whether to call again could do the work twice.
func TestProgramsHearWhyThereIsNoAnswer(t *testing.T) {
	for want, why := range map[string]error{
		"no_service":     find.ErrNotFound,
		"service_failed": &ripc.FailedError{Text: "no such key"},
		"unreachable":    ripc.ErrUnreachable,
		"lost":           ripc.ErrLost,
		"timeout":        kindError{ripc.ErrUnreachable, "timeout"},
		"failed":         ripc.ErrRefused,
	} {
		if got := failureOf(t.Context(), noService("kv", fmt.Errorf("call: %w", why))); got.Kind != want {
			t.Errorf("%v is of the kind %q, want %q", why, got.Kind, want)
		}
	}
}

// Who gives what is to be sent as an argument is told how it is given.
func TestCallTellsHowToSend(t *testing.T) {
	if status, _, errs := weft("call", "greeter", "hello"); status != 2 || !strings.Contains(errs, "--data") {
		t.Errorf("%d, %q", status, errs)
	}
}

// An answer of nothing is no answer's absence.
func TestAnEmptyAnswerIsAString(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "services")
	echo := startEcho(t, directory, "greeter")
	if status, out, errs := weft("call", "greeter", "--json", "--directory", directory); status != 0 || !strings.Contains(out, `"answer":""`) {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	_ = echo.Process.Signal(syscall.SIGINT)
	_ = echo.Wait()
}

// A process that is killed does not keep its names.
func TestAKilledServiceIsReplaced(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "services")
	first := startEcho(t, directory, "greeter")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	second := startEcho(t, directory, "greeter")
	if status, out, errs := weft("call", "greeter", "--data", "hello", "--directory", directory); status != 0 || out != "hello" {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	_ = second.Process.Signal(syscall.SIGINT)
	_ = second.Wait()
}

// ownName is a name that no other run of these tests has on the network of this host.
func ownName(name string) string { return fmt.Sprintf("%s-%d", name, os.Getpid()) }

// A process that has lost its services says so of each once, and fails.
func TestAServiceThatIsLostIsNamedOnce(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "services")
	out, says := io.Pipe()
	var errs bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- run(t.Context(), []string{"serve-echo", "greeter", "--directory", directory}, says, &errs)
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it is ready
		t.Fatal(err)
	}
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != exitFailed || strings.Count(errs.String(), "greeter") != 1 || !strings.Contains(errs.String(), "removed") {
		t.Errorf("%d, %q", got, &errs)
	}
}

// The services of a network find each other with one flag. Loopback is one.
func TestServicesOfANetwork(t *testing.T) {
	name := ownName("greeter")
	echo := startEchoAt(t, "--lan", "lo", name)
	if status, out, errs := weft("call", name, "--data", "hello", "--lan", "lo"); status != 0 || out != "hello" {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	if status, _, errs := weft("services", "--lan", "no-such-network"); status == 0 || !strings.Contains(errs, "no-such-network") {
		t.Errorf("%d, %q", status, errs)
	}
	_ = echo.Process.Signal(syscall.SIGINT)
	_ = echo.Wait()
}
