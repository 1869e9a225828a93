package presence

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// In a network namespace of its own, a test can take the network away: that is a host that vanished, or a firewall.
func TestVanishedAndUnreachableHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for silence")
	}
	t.Parallel()
	attr := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	_, out, err := startChild(t, "namespace", attr)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) {
		t.Skipf("this machine gives no namespaces, so vanished hosts were NOT tested: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(out)
	if err != nil || string(said) != "as it should be\n" {
		t.Fatalf("the child said %q, %v", said, err)
	}
}

func runNamespaceChild() {
	if err := errors.Join(tryUnreachable(), tryVanished()); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	fmt.Fprintln(os.Stdout, "as it should be")
}

// offices opens two that can reach each other if the loopback device is up.
func offices(log io.Writer) (a, b *Office) {
	config := Config{Listen: ":0", KeepAlive: time.Second, Log: slog.New(slog.NewTextHandler(log, nil))}
	a, err := Open(config)
	if err != nil {
		panic(err)
	}
	if b, err = Open(config); err != nil {
		panic(err)
	}
	return a, b
}

// An office that cannot be reached is not gone; it is said once, and found when the way is free.
func tryUnreachable() error {
	var log journal
	client, server := offices(&log)
	defer client.Close()
	defer server.Close()
	n, b := NewName(), newBell()
	server.Register(n)
	client.Watch(n, server.at(), b.ring)
	time.Sleep(time.Second) // for several attempts
	if b.rang() || strings.Count(log.String(), "cannot watch over peers at 127.0.0.1:") != 1 {
		return fmt.Errorf("without a network: gone %t, log %q", b.rang(), log.String())
	}
	setLoopback(true)
	return endIsHeard(server, n, b)
}

func endIsHeard(server *Office, n Name, b bell) error {
	for end := time.Now().Add(hangs); server.watchers(n) == 0; time.Sleep(time.Millisecond) {
		if b.rang() || time.Now().After(end) {
			return fmt.Errorf("with the network back: gone %t", b.rang())
		}
	}
	server.End(n)
	return heardIn(b)
}

func heardIn(b bell) error {
	select {
	case <-b:
		return nil
	case <-time.After(hangs):
		return errors.New("nobody was told")
	}
}

// A host from which nothing comes any more is gone, for the watcher and for the office.
func tryVanished() error {
	client, server := offices(io.Discard)
	defer client.Close()
	defer server.Close()
	n, b := NewName(), newBell()
	server.Register(n)
	setLoopback(true)
	client.Watch(n, server.at(), b.ring)
	for server.watchers(n) == 0 {
		time.Sleep(time.Millisecond)
	}
	setLoopback(false)
	if err := heardIn(b); err != nil {
		return err
	}
	for end := time.Now().Add(hangs); server.visitors() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("the office keeps a visitor whose host vanished")
		}
	}
	return nil
}

// setLoopback switches this namespace's loopback device on or off.
func setLoopback(up bool) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		panic(err)
	}
	if up {
		request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		panic(err)
	}
}
