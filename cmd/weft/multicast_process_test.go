package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endless are arguments of a multicast that goes on until something happens.
var endless = strings.Fields("multicast --local 4 --size 4MB --repeat 10000 --json --quiet")

// childrenWhenBorn waits until a command has so many children, and returns them.
func childrenWhenBorn(t *testing.T, cmd *exec.Cmd, n int) []int {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if children := childrenOf(cmd.Process.Pid); len(children) == n {
			return children
		}
	}
	t.Fatalf("children: %v", childrenOf(cmd.Process.Pid))
	return nil
}

// gone waits until processes have ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(20 * time.Second); lives(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d lives on", pid)
			}
		}
	}
}

// startMulticast starts a multicast that will not end by itself, and lets it come to a moment of chance.
func startMulticast(t *testing.T, lane string) (cmd *exec.Cmd, children []int, out, errs *bytes.Buffer) {
	t.Helper()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = command(t, append(endless, "--provider", lane)...)
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	children = childrenWhenBorn(t, cmd, 3)
	after := time.Duration(rand.Int64N(int64(400 * time.Millisecond)))
	t.Logf("after %v", after)
	time.Sleep(after) // whenever it comes, the end must be clean
	return cmd, children, out, errs
}

// ended waits for the end of a command that cannot take long.
func ended(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	hung := time.AfterFunc(60*time.Second, func() { cmd.Process.Signal(syscall.SIGABRT) })
	defer hung.Stop()
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// A member that is killed, at whatever moment, is named, and nobody stays behind.
func TestMulticastMemberKilled(t *testing.T) {
	for _, lane := range []string{"shm", "tcp"} {
		for rank := 1; rank < 4; rank++ {
			t.Run(fmt.Sprint(lane, rank), func(t *testing.T) {
				cmd, children, _, errs := startMulticast(t, lane)
				syscall.Kill(children[rank-1], syscall.SIGKILL)
				status := ended(t, cmd)
				name := fmt.Sprintf("(process %d)", children[rank-1])
				if status != exitFailed || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), name) {
					t.Errorf("status %d; %s was killed, and it says: %s", status, name, errs)
				}
				gone(t, children)
			})
		}
	}
}

// Ctrl-C ends all, with what was measured until then.
func TestMulticastInterrupted(t *testing.T) {
	for _, lane := range []string{"shm", "tcp"} {
		cmd, children, out, errs := startMulticast(t, lane)
		cmd.Process.Signal(os.Interrupt)
		if status := ended(t, cmd); status != exitSignal+int(syscall.SIGINT) || !strings.HasSuffix(complaint(strings.TrimSpace(errs.String())), "interrupted") {
			t.Errorf("status %d, %s", status, errs)
		}
		if text := out.String(); text != "" && !strings.Contains(text, `"interrupted":true`) {
			t.Errorf("it prints %s", text)
		}
		gone(t, children)
	}
}

// If the root is killed no member stays behind, not even one that stands still.
func TestMulticastRootKilled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // where nobody else leaves anything meanwhile
	cmd, children, _, _ := startMulticast(t, "shm")
	shared := sharedFiles(append(children, cmd.Process.Pid)...)
	syscall.Kill(children[1], syscall.SIGSTOP)
	cmd.Process.Kill()
	cmd.Wait()
	gone(t, children)
	nothingLeft(t, shared)
}

// Members wait at addresses, and a root finds them there: as often as it likes, if they keep waiting. One that is gone is
// named by the root and by the others.
func TestMulticastServed(t *testing.T) {
	var servers []*exec.Cmd
	var events []serverEvents
	var addresses []string
	for range 3 {
		server := command(t, "multicast", "--serve", "127.0.0.1:0", "--keep", "--json")
		servers = append(servers, server)
		events = append(events, startWithEvents(t, server))
		addresses = append(addresses, events[len(events)-1].next(t, "listening").Address)
		defer func() { server.Process.Kill(); server.Wait() }()
	}
	root := []string{"multicast", "--members", strings.Join(addresses, ","), "--json", "--quiet", "--timeout", "20s"}
	for _, args := range []string{"--provider tcp --size 1MB", "--size 100 --repeat 1"} {
		status, out, errs := weft(append(root, strings.Fields(args)...)...)
		if status != 0 || !strings.Contains(out, addresses[1]) {
			t.Fatalf("%s: status %d, %s%s", args, status, out, errs)
		}
		for _, e := range events {
			e.next(t, "client")
			if e := e.next(t, "done"); e.Error != "" {
				t.Errorf("%s: %+v", args, e)
			}
		}
	}
	cmd := command(t, append(root, "--size", "4MB", "--repeat", "10000")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		e.next(t, "client")
	}
	servers[1].Process.Kill()
	if status := ended(t, cmd); status != exitFailed || !strings.Contains(errs.String(), addresses[1]) {
		t.Errorf("status %d; %s was killed, and it says: %s", status, addresses[1], &errs)
	}
	for _, i := range []int{0, 2} {
		if e := events[i].next(t, "done"); !strings.Contains(e.Error, addresses[1]) {
			t.Errorf("%s was killed, and member %d says: %+v", addresses[1], i+1, e)
		}
	}
}

// Who waits serves one root, and ends as that went. An interrupted member tells it.
func TestMulticastServesOnce(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		server := command(t, "multicast", "--serve", "127.0.0.1:0", "--json")
		events := startWithEvents(t, server)
		root := []string{"multicast", "--members", events.next(t, "listening").Address, "--size", "4MB", "--json", "--quiet"}
		if !interrupted {
			if status, _, errs := weft(root...); status != 0 {
				t.Errorf("status %d, %s", status, errs)
			}
			if status := ended(t, server); status != 0 {
				t.Errorf("the member's status is %d", status)
			}
			continue
		}
		cmd := command(t, append(root, "--repeat", "10000")...)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		events.next(t, "client")
		time.Sleep(100 * time.Millisecond) // into the runs, mostly
		server.Process.Signal(syscall.SIGTERM)
		if status := ended(t, server); status != exitSignal+int(syscall.SIGTERM) {
			t.Errorf("the member's status is %d", status)
		}
		status := ended(t, cmd)
		var r castReport
		if err := json.Unmarshal(out.Bytes(), &r); status != exitFailed || err != nil || !strings.Contains(r.Error, "member 1 (127.0.0.1:") {
			t.Errorf("status %d, %v, %s", status, err, &out)
		}
	}
}
