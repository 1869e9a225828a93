package main

import (
	"context"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/delivery"
)

func TestBenchMulticastRefuses(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--only (", 2, "--only"},
		{"--rounds 0", 2, "--rounds 0: from 1"},
		{"--pairs 1001", 2, "--pairs 1001: from 1"},
		{"--out x.json --quick", 2, "whole runs only"},
		{"--out x.json --only allocations", 2, "whole runs only"},
		{"--plot x.png", 2, "--plot"},
		{"now", 2, `takes no argument "now"`},
		{"--only nonsense", 1, "matches nothing; there are 256 MiB to 3 receivers"},
	} {
		status, out, errs := weft(append([]string{"bench", "multicast"}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(errs, c.says) || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("weft bench multicast %s: status %d, want %d with %q; it printed\n%s%s", c.args, status, c.status, c.says, out, errs)
		}
	}
}

func TestBenchPlayIsNotForPeople(t *testing.T) {
	for _, role := range []string{"", "nobody", "tracker"} {
		if status, _, errs := weft(append([]string{"bench", "play"}, strings.Fields(role)...)...); status != 1 || !strings.Contains(errs, "for weft bench itself") {
			t.Errorf("%q: status %d, %s", role, status, errs)
		}
	}
}

// smallField has two receivers on limited links, to whom this very program can deliver.
func smallField(t *testing.T) *delivery.Field {
	t.Helper()
	t.Setenv(asCommand, "1")
	f, err := delivery.Open(2, "200mbit")
	if err != nil {
		lacking(t, err)
	}
	f.Idle = 0 // other tests run too
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestWeftDelivers has this very program deliver on limited links, beside one plain copy.
func TestWeftDelivers(t *testing.T) {
	if testing.Short() {
		t.Skip("deliveries take seconds")
	}
	f := smallField(t)
	for _, c := range []delivery.Contestant{delivery.OneCopy(), delivery.Weft("pipeline", 0), delivery.Weft("chain", 64<<10)} {
		s, err := f.Deliver(context.Background(), c, delivery.Load{Bytes: 2 << 20, Repeats: 1})
		if err != nil {
			t.Error(err)
		} else if s.CPU <= 0 || s.Whole < s.Seconds || c.Kind == delivery.KindWeft && s.Bound <= 1 {
			t.Errorf("%s: %+v", c.Name, s)
		}
	}
}
