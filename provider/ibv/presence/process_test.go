package presence

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVar makes this test binary another process; children are what it can be.
const childVar = "WEFT_PRESENCE_CHILD"

var children = map[string]func(){
	"office":    runOfficeChild,
	"namespace": runNamespaceChild,
}

// startChild runs this binary as a child, with its output to read and its input to hold open.
func startChild(t *testing.T, kind string, attr *syscall.SysProcAttr, args ...string) (*exec.Cmd, *bufio.Reader, error) {
	t.Helper()
	child := exec.Command(os.Args[0], args...)
	child.Env = append(os.Environ(), childVar+"="+kind)
	child.SysProcAttr = attr
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() {
		in.Close()
		child.Process.Kill()
		child.Wait()
	})
	return child, bufio.NewReader(out), nil
}

// runOfficeChild has one queue pair until its input ends.
func runOfficeChild() {
	office, err := Open(Config{Listen: os.Args[1], KeepAlive: time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	n := NewName()
	office.Register(n)
	fmt.Fprintln(os.Stdout, office.Port(), uint64(n))
	io.Copy(io.Discard, os.Stdin)
	office.Close()
}

func onBothLoopbacks(t *testing.T, test func(*testing.T, netip.Addr)) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(strings.ReplaceAll(host, ":", "_"), func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				t.Skipf("this machine has no %s: %v", host, err)
			}
			l.Close()
			test(t, netip.MustParseAddr(host))
		})
	}
}

func startOffice(t *testing.T, host netip.Addr) (child *exec.Cmd, at netip.AddrPort, n Name) {
	t.Helper()
	child, out, err := startChild(t, "office", nil, netip.AddrPortFrom(host, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	var port uint16
	if _, err := fmt.Fscan(out, &port, (*uint64)(&n)); err != nil {
		t.Fatal(err)
	}
	return child, netip.AddrPortFrom(host, port), n
}

func TestKilledProcessIsGone(t *testing.T) {
	t.Parallel()
	onBothLoopbacks(t, func(t *testing.T, host netip.Addr) {
		client := openUsual(t)
		child, at, n := startOffice(t, host)
		b, unknown := newBell(), newBell()
		client.Watch(n, at, b.ring)
		client.Watch(NewName(), at, unknown.ring)
		unknown.wait(t)
		if b.rang() {
			t.Fatal("gone while it lives")
		}
		child.Process.Kill()
		b.wait(t)
		after := newBell()
		client.Watch(n, at, after.ring)
		after.wait(t)
	})
}

// A process that dies with us in its backlog resets us before it greets.
func TestKilledWhileStoppedIsGone(t *testing.T) {
	t.Parallel()
	onBothLoopbacks(t, func(t *testing.T, host netip.Addr) {
		client := openUsual(t)
		child, at, n := startOffice(t, host)
		stop(t, child)
		b := newBell()
		client.Watch(n, at, b.ring)
		until(t, "connected", func() bool { return client.isConnected(at) })
		child.Process.Kill()
		b.wait(t)
	})
}

func (o *Office) isConnected(at netip.AddrPort) bool {
	o.lines.mu.Lock()
	defer o.lines.mu.Unlock()
	l := o.lines.open[at]
	return l != nil && l.link != nil
}

// stop stops a child, and waits until it stands still.
func stop(t *testing.T, child *exec.Cmd) {
	t.Helper()
	child.Process.Signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(child.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the child did not stop: %v, status %#x", err, status)
	}
}

// A stopped process is not gone, however long, and however much is sent to it; neither for who was connected already nor
// for who dials it then.
func TestStoppedProcessIsNotGone(t *testing.T) {
	if testing.Short() {
		t.Skip("stands still for seconds")
	}
	t.Parallel()
	onBothLoopbacks(t, func(t *testing.T, host netip.Addr) {
		early, late := openUsual(t), openUsual(t)
		child, at, n := startOffice(t, host)
		b, c, answer := newBell(), newBell(), newBell()
		early.Watch(n, at, b.ring)
		early.Watch(NewName(), at, answer.ring)
		answer.wait(t)
		stop(t, child)
		const many = 50_000
		told := make(chan struct{}, 2*many)
		for range many {
			early.Watch(NewName(), at, onGone(func() { told <- struct{}{} }))
			late.Watch(NewName(), at, onGone(func() { told <- struct{}{} }))
		}
		late.Watch(n, at, c.ring)
		time.Sleep(4 * time.Second) // several times the limit on silence
		if b.rang() || c.rang() || len(told) > 0 {
			t.Fatal("a stopped process was taken for dead")
		}
		child.Process.Signal(syscall.SIGCONT)
		for range 2 * many {
			<-told
		}
		if b.rang() || c.rang() {
			t.Fatal("it lives, and was taken for dead")
		}
	})
}
