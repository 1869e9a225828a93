package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/push"
)

func TestBenchPushRefuses(t *testing.T) {
	for args, says := range map[string]string{
		"--only (": "--only", "--rounds 0": "--rounds 0: from 1", "--pairs 1001": "--pairs 1001: from 1", "--out x.json --quick": "whole runs only",
		"--out x.json --only CPU": "whole runs only", "--out x.json --pairs 2": "at least 7", "now": `takes no argument "now"`,
	} {
		if status, out, errs := weft(append([]string{"bench", "push"}, strings.Fields(args)...)...); status != 2 || !strings.Contains(errs, says) || out != "" {
			t.Errorf("weft bench push %s: status %d; it printed\n%s%s", args, status, out, errs)
		}
	}
}

// TestEverybodyPushes has this very program push in all the ways that are measured, beside what it is compared with.
func TestEverybodyPushes(t *testing.T) {
	if testing.Short() {
		t.Skip("deliveries take seconds")
	}
	f := smallField(t)
	options := []string{"--provider", "tcp", "--plain", "--checksum"}
	limited := append([]string{"--bwlimit", "2MB"}, options...) // so that there is a way on which something can happen
	oneDone := happened(push.EventHostDone, f.Address(1))       // of the slow host nothing need have arrived
	var again, killed, enough, crowd delivery.Pushed
	var opened uint64
	all := []delivery.Contestant{
		delivery.Push{Name: "again", Options: options, Again: true}.Contestant(&again),
		delivery.Push{Name: "killed", Options: limited, Kill: 1}.Contestant(&killed),
		delivery.Push{Name: "enough", Options: limited, Slow: 2, Enough: oneDone}.Contestant(&enough),
		delivery.Crowd(3, &crowd, &opened), delivery.Handshakes(9, 3, false), delivery.Handshakes(9, 3, true), delivery.Relay(false), delivery.Relay(true),
	}
	if _, err := exec.LookPath("rsync"); err == nil { // of others' programs none is needed for tests
		all = append(all, delivery.Rsync())
	}
	for _, c := range all {
		s, err := f.Deliver(context.Background(), c, delivery.Load{Bytes: 4 << 20, Repeats: 1})
		if err != nil || s.Seconds < 0 || s.Whole < 0 {
			t.Errorf("%s: %+v, %v", c.Name, s, err)
		}
	}
	if t.Failed() {
		return
	}
	if r := again.Again; r == nil || r.Hosts[0].Received > r.Bytes/10 || len(again.CPU) != 3 {
		t.Errorf("again: %+v", again)
	}
	if first, err := crowd.First(); first <= 0 || err != nil || opened < 6 {
		t.Errorf("a crowd of three: the first byte after %v, %v, and %d connections", first, err, opened)
	}
	if r := killed.Report; r.Exit != push.ExitPartial || len(killed.Done) != 1 {
		t.Errorf("killed: %+v, done are %v", r.Hosts, killed.Done)
	}
	if len(enough.Done) == 0 {
		t.Errorf("enough: %+v", enough.Report)
	}
}
