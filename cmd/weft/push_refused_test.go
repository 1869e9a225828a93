package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push"
)

// A second push to the same path hears of the first, which goes on.
func TestPushSecondToTheSamePath(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 2<<20)
	first := f.slowly()
	f.await(first, half, f.agents[0])
	second := f.push().end(push.ExitPreflight)
	r := first.end(push.ExitOK)
	for _, a := range f.agents {
		says(t, second, a, r.ID)
	}
	f.rerun(r)
}

// Time that is over ends a push, and what has come stays.
func TestPushLate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 2<<20)
	r := f.push("--bwlimit", "1MB", "--deadline", "1500ms").end(push.ExitLate)
	missed(t, f, f.agents...)
	for _, a := range f.agents {
		says(t, r, a, "the deadline is over")
	}
	f.rerun(r)
}

// A push in which nobody gets on ends, too.
func TestPushStalled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 2<<20)
	u := f.slowly("--stall-timeout", "2s")
	f.await(u, half, f.agents[0])
	for _, a := range f.agents {
		a.signal(syscall.SIGSTOP)
	}
	r := u.end(push.ExitLate)
	for _, a := range f.agents {
		says(t, r, a, "no host has got on")
	}
	f.goOn(f.agents...)
	missed(t, f, f.agents...)
	f.rerun(r)
}

// terminal is a terminal for a process, and who sits at it.
func terminal(t *testing.T) (person, process *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		lacking(t, err)
	}
	t.Cleanup(func() { person.Close() })
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		process, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return person, process
}

// At a terminal Ctrl-C asks how it goes, and a second one stops, with a state that can be resumed.
func TestPushInterruptedAtATerminal(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 2<<20)
	person, process := terminal(t)
	cmd := f.command(0, append(f.pushLine(), "--bwlimit", "1MB")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = process, process, process
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // so that ^C is a signal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process.Close()
	var screen lines
	var showing sync.WaitGroup
	showing.Go(func() { io.Copy(&screen, person) }) // until the process has ended
	defer showing.Wait()
	screen.await(t, "sending")
	f.await(nil, moment{percent: 10}, f.agents[0])
	io.WriteString(person, "\x03")
	screen.await(t, "Ctrl-C again within a second stops it")
	io.WriteString(person, "\x03")
	if status := ended(t, cmd); status != push.ExitInterrupted {
		t.Errorf("status %d: %s", status, &screen)
	}
	screen.await(t, "interrupted: 0 of 2 hosts have it; the same command resumes it")
	missed(t, f, f.agents...)
	f.rerun(nil)
}
