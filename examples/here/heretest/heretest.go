// Package heretest runs the halves of an example as a reader of its first lines would: as two processes.
package heretest

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

const asExample = "WEFT_EXAMPLE"

// Main is TestMain of an example: the test binary is also the example itself.
func Main(m *testing.M, main func()) {
	if os.Getenv(asExample) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Serve starts the half that serves, and waits until it says its first line. It is interrupted at the end of the test, and must end
// well then.
func Serve(t *testing.T, args ...string) {
	t.Helper()
	t.Setenv("WEFT_HOST_DIR", t.TempDir())
	server := command(args...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM) // if it has ended, Wait says how
		if err := server.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the server says nothing")
	}
}

// Ask runs the half that asks, which must say what is wanted.
func Ask(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := command(args...).CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("%q said %q instead of %q, %v", args, out, want, err)
	}
}

func command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asExample+"=1")
	return c
}
