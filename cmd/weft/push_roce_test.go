package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/push"
)

// guestFleet starts agents in the guest, each at an address of its own that does not look as if it were of this host, and with words before
// its command line, if there are any.
func guestFleet(t *testing.T, through ...[]string) *fleet {
	t.Helper()
	inGuest(t, "1")
	t.Setenv("TMPDIR", "/dev/shm") // the disk is slow
	f := fleetOf(t, 2<<20)
	for i, words := range through {
		a := &fleetAgent{name: fmt.Sprintf("10.7.0.%d", i+1), through: words}
		if out, err := exec.Command("ip", "address", "replace", a.name+"/32", "dev", "lo").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		f.agents = append(f.agents, a)
	}
	return f.equip().launch()
}

// planned pushes by a way, and returns the last plan, and how it ended.
func (f *fleet) planned(way string, status int) (plan push.Plan, r *push.Report) {
	f.t.Helper()
	u := f.push("--provider", way)
	u.until(func(e push.Event) bool {
		if e.Kind == push.EventPlan {
			plan = *e.Plan
		}
		return false
	})
	r = u.end(status)
	f.clean(r)
	return plan, r
}

// packets is how many the device has sent.
func packets(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/sys/class/infiniband/" + os.Getenv("WEFT_ROCE") + "/ports/1/hw_counters/sent_pkts")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// mostPacket is how many bytes of a block one of the device's packets has.
const mostPacket = 4096

// Hosts that all have RDMA get blocks by it, and nobody has to say so.
func TestRocePush(t *testing.T) {
	f := guestFleet(t, nil, nil, nil)
	before := packets(t)
	plan, _ := f.planned("auto", push.ExitOK)
	if plan.Way != "ibv" || plan.NotRDMA != "" || plan.Encrypted != "data goes over RDMA and is not encrypted; control is" {
		t.Errorf("%+v", plan)
	}
	if sent, least := packets(t)-before, int(plan.Bytes)*len(f.agents)/mostPacket; sent < least {
		t.Errorf("the device has sent %d packets, and the blocks alone take %d", sent, least)
	}
}

// A relay that dies there is named, the others go on by RDMA, and it is sent what it lacks when it is back.
func TestRocePushRelayKilled(t *testing.T) {
	f := guestFleet(t, nil, nil, nil)
	f.way = "ibv"
	u := f.push()
	f.await(u, moment{"early", begins("send"), 10}, f.agents[1])
	had := f.onDisk(f.agents[1])
	f.agents[1].signal(syscall.SIGKILL)
	f.agents[1].kill()
	r := u.end(push.ExitPartial)
	says(t, r, f.agents[1], "does not answer any more")
	f.keeps(had)
	f.way = push.Auto
	if again := f.rerun(r); again.Plan.Way != "ibv" {
		t.Errorf("%+v", again.Plan)
	}
}

// lockingNothing has a process be unable to lock memory, although it is root's.
var lockingNothing = strings.Fields("setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock prlimit --memlock=65536:65536")

// An agent that may not lock memory offers no RDMA. All get it by TCP then; and who insists hears of it.
func TestRocePushMemoryNotLocked(t *testing.T) {
	f := guestFleet(t, nil, lockingNothing)
	if text := f.agents[1].log.String(); !strings.Contains(text, "RDMA is not used") || !strings.Contains(text, "ulimit -l unlimited") {
		t.Errorf("its agent says %s", text)
	}
	plan, _ := f.planned("auto", push.ExitOK)
	if plan.Way != "shm" || !strings.HasPrefix(plan.NotRDMA, f.agents[1].address+": no RDMA device that works") {
		t.Errorf("%+v", plan)
	}
	f.agents[0].forget(t)
	f.agents[1].forget(t)
	_, r := f.planned("ibv", push.ExitPartial)
	says(t, r, f.agents[1], "does not have the way ibv")
}

// Devices that do not reach each other are found out when hosts are to meet, and TCP is taken.
func TestRocePushDevicesApart(t *testing.T) {
	inGuest(t, "1")
	f := guestFleet(t, nil, []string{"env", "WEFT_DEVICE=" + addDeviceApart(t)})
	plan, _ := f.planned("auto", push.ExitOK)
	if plan.Way != "shm" || !strings.HasPrefix(plan.NotRDMA, "RDMA does not lead to all hosts: ") {
		t.Errorf("%+v", plan)
	}
}
