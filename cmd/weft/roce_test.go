package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests of this file need a real RDMA device: rig/softroce/tests.list has them.

// guestLimit is for hangs: nothing that works takes so long.
const guestLimit = 2 * time.Minute

// inGuest skips a test outside, and where there are not so many machines.
func inGuest(t *testing.T, machines string) {
	t.Helper()
	if os.Getenv("WEFT_ROCE") == "" {
		t.Skip("needs a real RDMA device: make test-roce runs it")
	}
	if os.Getenv("WEFT_MACHINES") != machines {
		t.Skipf("needs machines: %s", machines)
	}
}

// guestCommand is weft in the guest, ended if it hangs.
func guestCommand(t *testing.T, args string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guestLimit)
	t.Cleanup(cancel)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, strings.Fields(args)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// foreign is Debian's program. It sleeps while it waits, as both sides do here: the guest's two processors are slow.
func foreign(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guestLimit)
	t.Cleanup(cancel)
	all := append(strings.Fields("-d "+os.Getenv("WEFT_ROCE")+" -g 1 -e -c -n 50 -s 10000"), args...)
	return exec.CommandContext(ctx, "ibv_rc_pingpong", all...)
}

const ourGame = "perf --peer pingpong --size 10000 --iterations 50 --wait sleeping --peer-timeout 1m "

// Weft as a client of Debian's ibv_rc_pingpong.
func TestRocePingPongClient(t *testing.T) {
	inGuest(t, "1")
	server := foreign(t)
	var theirs bytes.Buffer
	server.Stdout, server.Stderr = &theirs, &theirs
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ours := retryCall(t, func() *exec.Cmd { return guestCommand(t, ourGame+"--connect "+os.Getenv("WEFT_ADDRESS")) })
	if err := server.Wait(); err != nil || !strings.Contains(theirs.String(), "50 iters in") {
		t.Errorf("ibv_rc_pingpong: %v\n%s", err, &theirs)
	}
	if !strings.Contains(ours, "over ibv: ") || !strings.Contains(ours, "\n   10 kB ") {
		t.Errorf("weft says\n%s", ours)
	}
	t.Logf("%s%s", ours, &theirs)
}

// Weft as its server.
func TestRocePingPongServer(t *testing.T) {
	inGuest(t, "1")
	server := guestCommand(t, ourGame+"--once --json --plain --serve="+os.Getenv("WEFT_ADDRESS"))
	var errs bytes.Buffer
	server.Stderr = &errs
	events := startWithEvents(t, server)
	events.next(t, "listening")
	out, err := foreign(t, os.Getenv("WEFT_ADDRESS")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "50 iters in") {
		t.Errorf("ibv_rc_pingpong: %v\n%s", err, out)
	}
	var report perfReport
	if err := events.Decode(&report); err != nil || len(report.Results) != 1 || report.Results[0].Messages != 50 {
		t.Errorf("%+v, %v", report, err)
	}
	if at := os.Getenv("WEFT_ADDRESS"); report.Device != os.Getenv("WEFT_ROCE")+":1" || report.LocalGID.String() != at || report.RemoteGID.String() != at {
		t.Errorf("on %q, from %v to %v", report.Device, report.LocalGID, report.RemoteGID)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("%v: %s", err, &errs)
	}
	t.Logf("%s%+v", out, report.Results)
}

// retryCall runs a client until its server listens.
func retryCall(t *testing.T, client func() *exec.Cmd) string {
	t.Helper()
	for deadline := time.Now().Add(guestLimit); ; time.Sleep(50 * time.Millisecond) {
		out, err := client().CombinedOutput()
		if err == nil {
			return string(out)
		}
		if !strings.Contains(string(out), "nobody listens there") || time.Now().After(deadline) {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// asNobody makes a command another user's, who may run a copy of it: shared memory does not reach that one.
func asNobody(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	const nobody = 65534
	program, err := os.ReadFile(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/dev/shm", "roce")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	cmd.Path = filepath.Join(folder, "weft")
	if err := errors.Join(os.Chmod(folder, 0o755), os.WriteFile(cmd.Path, program, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

const quickClient = " writeimm --size 8,4KiB --iterations 10 --warm-up 0s --wait sleeping --connect "

// Of what both ends have the best is taken: shared memory, RDMA, TCP. RDMA that only one end may open is none.
func TestRoceChoice(t *testing.T) {
	inGuest(t, "1")
	server := guestCommand(t, "perf --json --serve=127.0.0.1:0")
	var errs bytes.Buffer
	server.Stderr = &errs
	events := startWithEvents(t, server)
	at := events.next(t, "listening").Address
	files := func(mode os.FileMode) {
		t.Helper()
		if err := os.Chmod("/dev/infiniband/uverbs0", mode); err != nil {
			t.Fatal(err)
		}
	}
	defer files(0o600)
	for _, c := range []struct {
		mode         os.FileMode
		user         func(*testing.T, *exec.Cmd) *exec.Cmd
		over, saying string
	}{
		{0o600, func(_ *testing.T, c *exec.Cmd) *exec.Cmd { return c }, "shm", ""},
		{0o666, asNobody, "ibv", ""},
		{0o600, asNobody, "tcp", "weft: ibv does not lead to the peer: open " + os.Getenv("WEFT_ROCE")},
	} {
		files(c.mode)
		client := c.user(t, guestCommand(t, "perf"+quickClient+at))
		var said bytes.Buffer
		client.Stderr = &said
		out, err := client.Output()
		if err != nil || !strings.HasPrefix(string(out), "over "+c.over+": ") || !strings.HasPrefix(said.String(), c.saying) || c.saying == "" && said.Len() > 0 {
			t.Errorf("want %s: %v\n%s%s", c.over, err, out, &said)
		}
	}
	server.Process.Signal(os.Interrupt)
	server.Wait()
	if !strings.Contains(errs.String(), "ibv does not lead to the peer: the peer: open") {
		t.Errorf("the server says %s", &errs)
	}
}

// What cannot be had is refused, each in its own words.
func TestRoceBadInput(t *testing.T) {
	inGuest(t, "1")
	device := os.Getenv("WEFT_ROCE")
	for _, c := range []badInput{
		{"perf --local --device nosuch", 1, "provider ibv: there is no RDMA device nosuch: there are " + device},
		{"perf --local --device " + device + ":7", 1, device + " has no port 7"},
		{"perf --peer pingpong --connect 127.0.0.1:1", 1, "nobody listens there; start ibv_rc_pingpong first"},
	} {
		c.check(t)
	}
}

// Messages that the device does not take are left out.
func TestRoceCutsSizes(t *testing.T) {
	inGuest(t, "1")
	t.Setenv(asCommand, "1")
	status, out, errs := weft(strings.Fields("perf --local --provider ibv --measure bandwidth --depth 2 --iterations 2 --warm-up 0s --size 4KiB,16MiB")...)
	if status != 0 || !strings.Contains(out, "sizes above 8 MiB are left out") || strings.Count(out, "verified") != 1 {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// Two hosts with RDMA use it. If its devices stand in different networks, TCP is used, with a word at both ends.
func TestWirePerf(t *testing.T) {
	inGuest(t, "2")
	apart := addDeviceApart(t)
	for port, c := range []struct{ device, over, saying string }{
		{os.Getenv("WEFT_ROCE"), "ibv", ""},
		{apart, "tcp", "weft: ibv does not lead to the peer: "},
	} {
		t.Setenv("WEFT_DEVICE", c.device)
		at := fmt.Sprintf(":%d", 7500+port)
		if os.Getenv("WEFT_MACHINE") == "1" {
			server := guestCommand(t, "perf --once --plain --serve="+os.Getenv("WEFT_ADDRESS")+at)
			out, err := server.CombinedOutput()
			if err != nil || !strings.Contains(string(out), ": over "+c.over+"\n") || !strings.Contains(string(out), c.saying) {
				t.Errorf("the server: %v\n%s", err, out)
			}
			continue
		}
		out := retryCall(t, func() *exec.Cmd { return guestCommand(t, "perf --plain"+quickClient+os.Getenv("WEFT_PEER")+at) })
		if !strings.Contains(out, "over "+c.over+": ") || !strings.HasPrefix(out, c.saying) {
			t.Errorf("the client:\n%s", out)
		}
		if c.over == "ibv" && !strings.Contains(out, c.device+":1, GID "+os.Getenv("WEFT_ADDRESS")+" to "+os.Getenv("WEFT_PEER")+"\n") {
			t.Errorf("the client does not say on which way:\n%s", out)
		}
	}
}

// addDeviceApart makes an RDMA device on a link that leads nowhere, in a network of its own.
func addDeviceApart(t *testing.T) string {
	t.Helper()
	for _, args := range []string{
		"ip link add apart type dummy",
		"ip addr add 10.8." + os.Getenv("WEFT_MACHINE") + ".1/24 dev apart",
		"ip link set apart addrgenmode none",
		"ip link set apart up",
		"rdma link add rxe9 type rxe netdev apart",
	} {
		words := strings.Fields(args)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	for deadline := time.Now().Add(guestLimit); lanes[2].usable("rxe9") != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(lanes[2].usable("rxe9"))
		}
	}
	return "rxe9"
}
