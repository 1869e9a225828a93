package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// quickCast are the flags of a multicast that slow processors can do: the guest emulates two.
const quickCast = "multicast --quiet --json --plain --repeat 1 --wait sleeping --peer-timeout 1m --timeout 1m "

// castOver checks that every member got the message over a real device, and got it right.
func castOver(t *testing.T, out string, members int) {
	t.Helper()
	var r castReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r.Provider != "ibv" || len(r.Members) != members || len(r.Results) != 1 || !r.Results[0].Verified || r.Error != "" {
		t.Errorf("it reports %s", out)
	}
}

// Processes of one host multicast over its device, by schedules with and without a header of their own.
func TestRoceMulticast(t *testing.T) {
	inGuest(t, "1")
	for _, args := range []string{"--size 3MB --algorithm pipeline", "--size 1000001 --algorithm circulant", "--size 0"} {
		out, err := guestCommand(t, quickCast+"--local 4 --provider ibv "+args).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", args, err, out)
		}
		castOver(t, string(out), 4)
	}
}

// Two members wait on one machine, and the root on the other finds RDMA by itself.
func TestWireMulticast(t *testing.T) {
	inGuest(t, "2")
	if os.Getenv("WEFT_MACHINE") == "2" {
		peer := os.Getenv("WEFT_PEER")
		out := retryCall(t, func() *exec.Cmd {
			return guestCommand(t, quickCast+"--size 3MB --members "+peer+":7510,"+peer+":7511")
		})
		castOver(t, out, 3)
		return
	}
	var servers []*exec.Cmd
	for _, port := range []string{":7510", ":7511"} {
		server := guestCommand(t, "multicast --json --plain --serve="+os.Getenv("WEFT_ADDRESS")+port)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		servers = append(servers, server)
	}
	for _, server := range servers {
		if err := server.Wait(); err != nil {
			t.Errorf("%s: %v", strings.Join(server.Args, " "), err)
		}
	}
}
