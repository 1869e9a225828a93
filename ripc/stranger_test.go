//go:build linux

package ripc

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/connect"
)

// asStranger runs f in a thread of another user.
func asStranger(t *testing.T, f func()) {
	t.Helper()
	become := func(user uintptr) {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), user, ^uintptr(0)); errno != 0 {
			t.Errorf("become user %d: %v", user, errno)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become(65534)
	defer become(0)
	f()
}

// Without keys, the kernel says who dials: a process of another user is not let in.
func TestAProcessOfAnotherUserIsNotLetIn(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	var log lockedText
	n := newNode(t, nil, Config{Log: log.logger()})
	i := newIntruder(t, nil)
	var s *connect.Session
	asStranger(t, func() { s = i.call(n) })
	if verdict, _, err := i.greet(s, i.helloNote()); err == nil {
		t.Errorf("the node says %q", verdict)
	}
	until(t, n, "the log names the user", func() bool { return strings.Contains(log.String(), "user 65534") })
	if !unlinkedNow(t, n) {
		t.Error("it is linked")
	}
}

func unlinkedNow(t *testing.T, n *Node) (is bool) {
	t.Helper()
	check(t, n.on(func() { is = unlinked(n)() }))
	return is
}
