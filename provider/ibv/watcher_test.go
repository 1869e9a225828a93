package ibv

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// fakeDevice is a device without anything behind it, with one completion queue.
func fakeDevice(t *testing.T) (*Device, *completionQueue, *bytes.Buffer) {
	t.Helper()
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(bell) })
	log := new(bytes.Buffer)
	d := &Device{choice: devices.Choice{Device: devices.Device{Name: "mlx5_0"}, Port: devices.Port{Number: 1}},
		log: slog.New(slog.NewTextHandler(log, nil)), queues: make(map[*completionQueue]struct{})}
	c := &completionQueue{device: d, bell: bell}
	d.queues[c] = struct{}{}
	return d, c, log
}

// Every event does what it must, and nothing else.
func TestHeed(t *testing.T) {
	for kind := native.EventType(-1); kind < 25; kind++ {
		d, c, log := fakeDevice(t)
		w := &watcher{device: d}
		for range 2 {
			w.heed(native.Event{Type: kind, Whose: 1})
		}
		var told []notice
		says, isLost := "", false
		switch kind {
		case native.DeviceFatal, native.QueueError:
			told, says, isLost = []notice{{kind: deviceLost}}, "RDMA device is gone", true
		case native.PortError:
			says = "RDMA port is down"
		case native.PairFatal, native.PairInvalid, native.PairAccess, native.PairLastTaken:
			told = []notice{{kind: pairFailed, number: 1}, {kind: pairFailed, number: 1}}
		}
		if len(c.notices) != len(told) || len(told) > 0 && c.notices[0] != told[0] || d.lost.Load() != isLost {
			t.Errorf("event %d: told %+v, lost %t", kind, c.notices, d.lost.Load())
		}
		if lines := strings.Count(log.String(), "\n"); says == "" && lines > 0 || says != "" && lines != 1 || !strings.Contains(log.String(), says) {
			t.Errorf("event %d: the log says %q", kind, log)
		}
	}
}

// A port that goes down and up is logged once each time; other ports are not.
func TestHeedPort(t *testing.T) {
	d, _, log := fakeDevice(t)
	w := &watcher{device: d}
	for _, e := range []native.Event{{Type: native.PortActive, Whose: 1}, {Type: native.PortError, Whose: 2}, {Type: native.PortError, Whose: 1},
		{Type: native.PortError, Whose: 1}, {Type: native.PortActive, Whose: 1}, {Type: native.PortActive, Whose: 1}} {
		w.heed(e)
	}
	if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "is down") ||
		!strings.Contains(lines[1], "is up again") {
		t.Errorf("the log says:\n%s", log)
	}
}

// A device is gone when what the kernel shows of it is, or is another's; not when it never was to be seen.
func TestFootprint(t *testing.T) {
	folder := t.TempDir()
	at := func() footprint {
		f := footprint{path: filepath.Join(folder, "uverbs0")}
		f.inode, _ = f.look()
		return f
	}
	unseen := at()
	if unseen.isGone() {
		t.Error("gone, and never was there")
	}
	if err := os.Mkdir(unseen.path, 0o755); err != nil {
		t.Fatal(err)
	}
	seen := at()
	if seen.isGone() || unseen.isGone() {
		t.Error("gone while it is there")
	}
	if err := os.Rename(seen.path, seen.path+" kept"); err != nil {
		t.Fatal(err)
	}
	if !seen.isGone() {
		t.Error("not gone, though it was removed")
	}
	if err := os.Mkdir(seen.path, 0o755); err != nil {
		t.Fatal(err)
	}
	if !seen.isGone() {
		t.Error("another device was taken for this one")
	}
	if f := (footprint{path: "/dev/null/x", inode: 1}); f.isGone() {
		t.Error("gone, though the kernel does not tell")
	}
}

// The list of completions does not grow if it never runs empty.
func TestReadyStaysSmall(t *testing.T) {
	var c completionQueue
	one, next := make([]driver.Completion, 1), driver.Tag(0)
	for i := range 100_000 {
		c.add(driver.Completion{Tag: driver.Tag(i)})
		if i < 50 {
			continue
		}
		if c.takeReady(one) != 1 || one[0].Tag != next {
			t.Fatalf("%+v, want tag %d", one[0], next)
		}
		next++
	}
	if cap(c.ready) > 1000 {
		t.Errorf("50 completions take room for %d", cap(c.ready))
	}
}

// What was posted by a number's last bearer, or before a renewal, finds nobody.
func TestSlots(t *testing.T) {
	var s slots[int]
	a, b := new(int), new(int)
	first, generation, _ := s.take(a)
	old := makeIdent(identRequest, first, generation, 7)
	if s.find(old) != a {
		t.Error("a member is not found")
	}
	if s.renew(first); s.find(old) != nil {
		t.Error("what was posted before a renewal finds its member")
	}
	s.leave(first)
	second, generation, _ := s.take(b)
	if s.find(old) != nil || s.find(makeIdent(identReceive, second, generation, 7)) != b || s.find(makeIdent(identRequest, 99, 0, 0)) != nil {
		t.Error("an ident finds the wrong member")
	}
}
