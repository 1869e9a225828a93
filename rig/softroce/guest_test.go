package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The tests of this file run in the guest: tests.list has them.

// limit is for hangs: nothing that works takes so long.
const limit = 2 * time.Minute

// inGuest skips a test outside, and where there are not so many machines.
func inGuest(t *testing.T, machines string) {
	if os.Getenv("WEFT_ROCE") == "" {
		t.Skip("needs a real RDMA device: make test-roce runs it")
	}
	if os.Getenv("WEFT_MACHINES") != machines {
		t.Skipf("needs machines: %s", machines)
	}
}

func output(t *testing.T, name string, args ...string) string {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestGuestHasDevice(t *testing.T) {
	inGuest(t, "1")
	info := output(t, "ibv_devinfo", "-d", os.Getenv("WEFT_ROCE"))
	for _, want := range []string{"PORT_ACTIVE", "active_mtu:\t\t4096"} {
		if !strings.Contains(info, want) {
			t.Errorf("ibv_devinfo does not say %q:\n%s", want, info)
		}
	}
}

// TestGuestIsAPlaceToWork checks what programs need besides the device.
func TestGuestIsAPlaceToWork(t *testing.T) {
	inGuest(t, "1")
	if limit := strings.TrimSpace(output(t, "sh", "-c", "ulimit -l")); limit != "unlimited" {
		t.Errorf("memory that may be locked: %s", limit)
	}
	if name, err := os.Hostname(); name != "weft1" {
		t.Errorf("the host's name is %q, %v", name, err)
	}
	for _, folder := range []string{os.TempDir(), "/dev/shm", "."} {
		f, err := os.CreateTemp(folder, "guest")
		if err != nil {
			t.Errorf("the guest cannot write: %v", err)
			continue
		}
		f.Close()
		os.Remove(f.Name())
	}
	if _, err := os.Stat("guest_test.go"); err != nil {
		t.Errorf("a test does not run in the folder of its package: %v", err)
	}
	if addresses, err := net.LookupHost("weft2"); err != nil || addresses[0] != "10.9.0.2" {
		t.Errorf("weft2 is %v, %v", addresses, err)
	}
}

// pingpong runs Debian's program: a server if there is no peer.
func pingpong(ctx context.Context, peer ...string) ([]byte, error) {
	args := append([]string{"-d", os.Getenv("WEFT_ROCE"), "-g", "1", "-m", "4096", "-s", "65536", "-n", "100", "-c"}, peer...)
	return exec.CommandContext(ctx, "ibv_rc_pingpong", args...).CombinedOutput()
}

// call runs the client until the server hears it.
func call(t *testing.T, peer string) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		out, err := pingpong(ctx, peer)
		if err == nil {
			t.Logf("%s", out)
			return
		}
		if ctx.Err() != nil || !strings.Contains(string(out), "Couldn't connect") {
			t.Fatalf("ibv_rc_pingpong %s: %v\n%s", peer, err, out)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func serve(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if out, err := pingpong(ctx); err != nil {
		t.Errorf("ibv_rc_pingpong: %v\n%s", err, out)
	}
}

func TestGuestPingPong(t *testing.T) {
	inGuest(t, "1")
	served := make(chan struct{})
	go func() {
		defer close(served)
		serve(t)
	}()
	call(t, "127.0.0.1")
	<-served
}

// TestWirePingPong has two kernels exchange RoCE packets.
func TestWirePingPong(t *testing.T) {
	inGuest(t, "2")
	if os.Getenv("WEFT_MACHINE") == "1" {
		serve(t)
	} else {
		call(t, os.Getenv("WEFT_PEER"))
	}
}
