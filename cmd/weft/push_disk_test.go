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
	"github.com/weft-fabric/weft/rig/links/network"
)

// smallDisk gives an agent that was not started a root with some bytes.
func smallDisk(t *testing.T, a *fleetAgent, size int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", a.root, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		lacking(t, "mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(a.root, 0); err != nil {
			t.Error(err)
		}
	})
}

// readOnly has nobody write to the root of an agent.
func readOnly(t *testing.T, a *fleetAgent, on bool) {
	t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if on {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("tmpfs", a.root, "tmpfs", flags, ""); err != nil {
		t.Fatal(err)
	}
}

// A disk that is too small is found before anything is sent, and the others get it.
func TestPushToASmallDisk(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 3, 3<<20)
	smallDisk(t, f.agents[1], 1<<20)
	f.launch()
	r := f.push().end(push.ExitPartial)
	failedAs(t, r, f.agents[1], control.Preflight, "not enough space")
	f.clean(r)
	if status, said := f.plainly(f.pushLine()...); status != push.ExitPartial || !strings.Contains(said, "\n"+f.agents[1].address+": not enough space") {
		t.Errorf("status %d: %s", status, said)
	}
}

// What is wrong at several hosts is said once for all of them, also where numbers differ.
func TestPushToSmallDisks(t *testing.T) {
	t.Parallel()
	f := idleRemoteFleet(t, 3, 3<<20, network.Unlimited)
	for i, a := range f.agents {
		if a.address = a.name + ":7470"; i > 0 {
			smallDisk(t, a, i<<20)
		}
	}
	f.launch()
	r := f.push().end(push.ExitPartial)
	one, other := outcomeOf(r, f.agents[1]), outcomeOf(r, f.agents[2])
	if one.Cause == "" || one.Cause != other.Cause || one.Text == other.Text {
		t.Errorf("%+v\n%+v", one, other)
	}
	status, said := f.plainly(f.pushLine()...)
	want := fmt.Sprintf("\n10.77.0.[3-4]:7470: %s; at %s: %s\n", one.Cause, one.Host, strings.TrimPrefix(one.Text, one.Cause+" "))
	_, report, _ := strings.Cut(said, "1 of 3 hosts have it")
	if status != push.ExitPartial || !strings.Contains(report, want) || strings.Count(report, "\n10.77.0.") != 1 {
		t.Errorf("status %d: %s, want %s", status, said, want)
	}
	f.clean(r)
}

// Disks that are full in the middle of a push cost their hosts, and not the others. When there is room, a rerun brings the rest.
func TestPushFillsADisk(t *testing.T) {
	t.Parallel()
	for _, fills := range [][]int{{1}, {0}, {2}, {0, 1}}[:long(1, 4)] {
		t.Run(fmt.Sprint(fills), func(t *testing.T) {
			f := idleFleet(t, 3, 2<<20)
			for _, i := range fills {
				smallDisk(t, f.agents[i], 4<<20)
			}
			u := f.launch().slowly()
			f.await(u, moment{"early", begins("send"), 10}, f.agents[fills[0]])
			had := f.onDisk(f.agents[fills[0]])
			for _, i := range fills {
				hog(f.agents[i])
			}
			r := u.end(push.ExitPartial)
			f.keeps(had)
			for _, i := range fills {
				failedAs(t, r, f.agents[i], control.Preflight, "no space left on device")
				if err := os.Remove(hog(f.agents[i])); err != nil {
					t.Fatal(err)
				}
			}
			f.rerun(r)
		})
	}
}

// hog takes all room that there is.
func hog(a *fleetAgent) (path string) {
	path = filepath.Join(a.root, "hog")
	_ = os.WriteFile(path, make([]byte, 8<<20), 0o600) // as much as fits
	return path
}

// Where nothing can be written, that is said before anything is sent.
func TestPushToReadOnly(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 2, 1<<20)
	for _, a := range f.agents {
		smallDisk(t, a, 8<<20)
	}
	f.launch()
	readOnly(t, f.agents[0], true)
	r := f.push().end(push.ExitPartial)
	failedAs(t, r, f.agents[0], control.Preflight, "read-only file system")
	f.clean(r)
	readOnly(t, f.agents[1], true)
	r = f.begin(f.pushTo("elsewhere")...).end(push.ExitPreflight)
	for _, a := range f.agents {
		failedAs(t, r, a, control.Preflight, "read-only file system")
		readOnly(t, a, false)
	}
	f.clean(r)
	r = f.push().end(push.ExitOK)
	f.clean(r)
}

// A dry run has the same exit status as the push would have, and writes nothing anywhere.
func TestPushDryRunToBadDisks(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 3, 3<<20)
	smallDisk(t, f.agents[0], 1<<20)
	smallDisk(t, f.agents[1], 8<<20)
	f.launch()
	readOnly(t, f.agents[1], true)
	before := f.states()
	some := f.push("-n").end(push.ExitPartial)
	bad := fmt.Sprintf("%s,%s", f.agents[0].address, f.agents[1].address)
	none := f.push("-n", "-x", f.agents[2].address).end(push.ExitPreflight)
	for _, r := range []*push.Report{some, none} {
		failedAs(t, r, f.agents[0], control.Preflight, "not enough space")
		failedAs(t, r, f.agents[1], control.Preflight, "read-only file system")
	}
	f.push("-n", "-x", bad).end(push.ExitOK)
	if after := f.states(); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
	readOnly(t, f.agents[1], false)
}
