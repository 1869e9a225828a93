package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waits is something that weft call waits for, and that does not happen.
type waits struct {
	args  []string
	in    io.Reader
	says  string          // what it names when its time is up
	begun <-chan struct{} // closed when it waits
}

// silentEtcd takes connections, and says nothing.
func silentEtcd(t *testing.T) waits {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	begun := make(chan struct{})
	go func() {
		if c, err := l.Accept(); err == nil {
			close(begun)
			<-t.Context().Done()
			_ = c.Close()
		}
	}()
	return waits{args: []string{"--etcd", l.Addr().String()}, says: "no answer from the directory at " + l.Addr().String(), begun: begun}
}

// openInput is standard input that somebody has begun to write, and does not end.
func openInput(t *testing.T) waits {
	in, typing := io.Pipe()
	t.Cleanup(func() { _ = typing.Close() })
	begun := make(chan struct{})
	go func() {
		if _, err := typing.Write([]byte("hel")); err == nil {
			close(begun)
		}
	}()
	directory := t.TempDir()
	if _, err := openPlace(t, directory).Register(t.Context(), "mute"); err != nil {
		t.Fatal(err)
	}
	return waits{args: []string{"--data", "-", "--directory", directory}, in: in, says: "read standard input", begun: begun}
}

// lockedDirectory is one that a stopped process keeps locked.
func lockedDirectory(t *testing.T) waits {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return waits{args: []string{"--directory", dir}, says: "another process keeps it", begun: closed()}
}

// muteService is one that takes messages, and answers none.
func muteService(t *testing.T) waits {
	directory := filepath.Join(t.TempDir(), "services")
	s, err := openPlace(t, directory).Register(t.Context(), "mute")
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	go func() {
		if call, err := s.Receive(t.Context()); err == nil {
			close(begun)
			<-t.Context().Done()
			call.Release()
		}
	}()
	return waits{args: []string{"--directory", directory}, says: `no answer from service "mute"`, begun: begun}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

var whatCallWaitsFor = map[string]func(*testing.T) waits{
	"etcd": silentEtcd, "standard input": openInput, "the directory's lock": lockedDirectory, "the answer": muteService,
}

// callMute is weft call, with what it waits for.
func callMute(ctx context.Context, w waits, args ...string) (status int, errs string) {
	var stdout, stderr bytes.Buffer
	root := newRoot(&stdout, &stderr)
	root.SetIn(w.in)
	args = slices.Concat([]string{"call", "mute"}, w.args, args)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	status = statusOf(ctx, err, isForPrograms(cmd, args), &stderr)
	return status, stderr.String()
}

// The time that a call may take is for all of it, and who has run out of it hears what for.
func TestTheTimeOfACallIsForAllOfIt(t *testing.T) {
	for name, begin := range whatCallWaitsFor {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they do nothing but wait, long enough to come so far on a busy machine
			w := begin(t)
			status, errs := callMute(t.Context(), w, "--timeout", "3s")
			if status != exitFailed || !strings.Contains(errs, w.says) || !strings.Contains(errs, "3s (--timeout)") {
				t.Errorf("%d, %q, want %q", status, errs, w.says)
			}
		})
	}
}

// slowInput is standard input of somebody who takes longer than a call has time.
type slowInput struct {
	io.Reader
	takes time.Duration
}

func (s slowInput) Read(b []byte) (int, error) {
	time.Sleep(s.takes)
	return s.Reader.Read(b)
}

// Who has not said how long a call may take has the time for its answer, however long he types.
func TestTypingTakesNoTimeOfACall(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "services")
	s, err := openPlace(t, directory).Register(t.Context(), "echo")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(t.Context(), 1, echo) }()
	o := callOptions{data: "-", timeout: 2 * time.Second, place: place{directory: directory, given: newCall().Flags()}}
	var out bytes.Buffer
	if err := o.run(t.Context(), "echo", slowInput{strings.NewReader("hello"), o.timeout}, &out); err != nil || out.String() != "hello" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// unread is standard input that nobody should read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("standard input was read")
	return 0, io.EOF
}

// Nobody types for a service that is not there, nor for one that is sent nothing.
func TestInputThatIsNotNeeded(t *testing.T) {
	w := waits{args: []string{"--data", "-", "--directory", t.TempDir()}, in: unread{t}}
	if status, errs := callMute(t.Context(), w); status != exitFailed || !strings.Contains(errs, "no such service") {
		t.Errorf("%d, %q", status, errs)
	}
	mute := muteService(t)
	mute.in = unread{t}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-mute.begun
		cancel(signalError{syscall.SIGINT})
	}()
	if status, errs := callMute(ctx, mute); status != exitSignal+int(syscall.SIGINT) {
		t.Errorf("%d, %q", status, errs)
	}
}

// Ctrl-C ends a call, whatever that waits for.
func TestACallIsInterrupted(t *testing.T) {
	for name, begin := range whatCallWaitsFor {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			ctx, end := context.WithCancelCause(t.Context())
			go func() {
				<-w.begun
				end(signalError{syscall.SIGINT})
			}()
			if status, errs := callMute(ctx, w, "--timeout", "1h"); status != exitSignal+int(syscall.SIGINT) || errs != "weft: interrupted\n" {
				t.Errorf("%d, %q", status, errs)
			}
		})
	}
}
