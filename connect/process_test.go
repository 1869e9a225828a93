package connect

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const childAddress = "WEFT_CONNECT_CHILD_LISTEN"

// TestChild is no test but the other process of TestKilledPeer: it listens, swaps once, and waits to be killed.
func TestChild(t *testing.T) {
	address := os.Getenv(childAddress)
	if address == "" {
		t.Skip("only runs as the child of TestKilledPeer")
	}
	ctx := testContext(t)
	l, err := Listen(ctx, address, Options{Name: "child", Offers: everyReach})
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("listening\n")
	s, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(ctx, Card{}); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	t.Fatal("nobody killed the child")
}

var everyReach = []Offer{{Provider: "inproc", Reach: SameProcess}, {Provider: "shm", Reach: SameHost}, {Provider: "tcp"}}

// startChild starts TestChild and waits until it listens.
func startChild(t *testing.T, address string) *exec.Cmd {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childAddress+"="+address)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return child
}

// TestKilledPeer: between processes of one host shared memory is agreed on, the kernel tells who the peer is, a kill is
// noticed, and the socket that is left behind stands in nobody's way.
func TestKilledPeer(t *testing.T) {
	address := "unix:" + socketPath(t)
	child := startChild(t, address)
	s, err := Dial(testContext(t), address, Options{Offers: everyReach})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	known, ok := s.Credentials()
	if !ok || int(known.Process) != child.Process.Pid || int(s.Peer().Process) != child.Process.Pid {
		t.Errorf("the peer is process %d by the kernel, %d by itself; it is %d", known.Process, s.Peer().Process, child.Process.Pid)
	}
	if s.Agreed().Provider != "shm" {
		t.Errorf("two processes agreed on %+v", s.Agreed())
	}
	if _, err := s.Swap(testContext(t), Card{}); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(testContext(t), Card{}); !errors.Is(err, ErrPeerGone) {
		t.Errorf("swap with a killed peer: %v", err)
	}
	_ = child.Wait()
	if _, err := os.Lstat(strings.TrimPrefix(address, "unix:")); err != nil {
		t.Errorf("there should be a stale socket: %v", err)
	}
	listenFor(t, address, Options{})
}

// TestStoppedPeer: a peer that is stopped is silent, and that ends.
func TestStoppedPeer(t *testing.T) {
	address := "unix:" + socketPath(t)
	child := startChild(t, address)
	s, err := Dial(testContext(t), address, Options{Offers: everyReach})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace/10)
	defer cancel()
	_, err = s.Swap(ctx, Card{})
	if err == nil { // it had time for the first one
		_, err = s.Swap(ctx, Card{})
	}
	checkSilent(t, err)
}
