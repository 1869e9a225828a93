package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
)

// smallDisk gives an agent that was not started a root with some bytes.
func (a *agentProcess) smallDisk(size int) {
	a.t.Helper()
	if err := syscall.Mount("tmpfs", a.root, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		a.t.Skip("mount: ", err)
	}
	a.t.Cleanup(func() {
		if err := syscall.Unmount(a.root, 0); err != nil {
			a.t.Error(err)
		}
	})
}

// readOnly has nobody write to the root of an agent.
func (a *agentProcess) readOnly(on bool) {
	a.t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if on {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("tmpfs", a.root, "tmpfs", flags, ""); err != nil {
		a.t.Fatal(err)
	}
}

// failedAs checks how a push failed for one agent.
func (o outcome) failedAs(a *agentProcess, class control.Class, says string) {
	a.t.Helper()
	if h := o.of(a); h.Outcome != push.OutcomeFailed || h.Class != class || !strings.Contains(h.Text, says) {
		a.t.Errorf("%+v, want %s: %s", h, class, says)
	}
}

// A disk that is too small is found before anything is sent, and the others get it.
func TestPushToASmallDisk(t *testing.T) {
	b := bareBed(t, 3)
	b.agents[1].smallDisk(1 << 20)
	for _, a := range b.agents {
		a.start()
	}
	source := noise(t, "file", 3<<20)
	o := b.push(push.ExitPartial, source, ".")
	o.failedAs(b.agents[1], control.Preflight, "not enough space")
	b.check(o, source)
	b.whole(source, b.agents[0], b.agents[2])
	status, out, _ := pushed(t, "push", source, ".", "--keys", keyPath(b.keys, "pusher"), "-w", b.agents[1].address)
	if status != push.ExitPreflight || !strings.Contains(out, b.agents[1].address+": not enough space") {
		t.Errorf("status %d: %s", status, out)
	}
}

// A disk that is full in the middle of a push costs that host, and not the others. When there is room, a rerun brings the rest.
func TestPushFillsADisk(t *testing.T) {
	for fills := range long(1, 3) {
		t.Run(fmt.Sprint(fills), func(t *testing.T) {
			b := bareBed(t, 3)
			full := b.agents[fills]
			full.smallDisk(6 << 20)
			for _, a := range b.agents {
				a.start()
			}
			source := noise(t, "file", 4<<20)
			r := b.start(source, ".")
			full.await(8)
			hog := filepath.Join(full.root, "hog")
			_ = os.WriteFile(hog, noiseOf(8<<20), 0o600) // as much as fits
			o := r.end(push.ExitPartial)
			o.failedAs(full, control.Preflight, "no space left on device")
			if err := os.Remove(hog); err != nil {
				t.Fatal(err)
			}
			b.check(o, source)
			b.finish(source)
		})
	}
}

// Where nothing can be written, that is said before anything is sent.
func TestPushToReadOnly(t *testing.T) {
	b := bareBed(t, 2)
	for _, a := range b.agents {
		a.smallDisk(8 << 20)
		a.start()
	}
	source := noise(t, "file", 1<<20)
	b.agents[0].readOnly(true)
	o := b.push(push.ExitPartial, source, ".")
	o.failedAs(b.agents[0], control.Preflight, "read-only file system")
	b.check(o, source)
	b.agents[1].readOnly(true)
	o = b.push(push.ExitPreflight, source, "elsewhere")
	o.failedAs(b.agents[1], control.Preflight, "read-only file system")
	for _, a := range b.agents {
		a.readOnly(false)
	}
	b.finish(source)
}
