package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestBadConfigs(t *testing.T) {
	for _, c := range []struct {
		config Config
		says   string
	}{
		{Config{Rate: "1gbit"}, "without hosts"},
		{Config{Racks: []int{0}, Rate: "1gbit"}, "0 hosts"},
		{Config{Racks: []int{2, 251}, Rate: "1gbit"}, "251 hosts"},
		{Config{Racks: []int{200, 51}, Rate: "1gbit"}, "251 hosts"},
		{Config{Racks: []int{2}}, `rate ""`},
		{Config{Racks: []int{2}, Rate: "fast"}, `rate "fast"`},
		{Config{Racks: []int{2}, Rate: "1gbit\nlink del eth0"}, "rate"},
		{Config{Racks: []int{2, 2}, Rate: "1gbit", Between: "-1gbit"}, `rate "-1gbit"`},
	} {
		if _, err := Up(c.config); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.says)
		}
	}
}

// up makes a network, or skips the test where none can be made.
func up(t *testing.T, config Config) *Network {
	t.Helper()
	if err := able(); err != nil {
		t.Skip(err)
	}
	n, err := Up(config)
	if errors.Is(err, os.ErrPermission) {
		t.Skip(err) // root in a container
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func run(t *testing.T, n *Network, host int, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	said, err := n.Command(ctx, host, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("host %d, %q: %v: %s", host, command, err, said)
	}
	return string(said)
}

func TestALinkGetsAnotherRate(t *testing.T) {
	n := up(t, Config{Racks: []int{2}, Rate: "200mbit"})
	if err := n.Limit(1, "100mbit"); err != nil {
		t.Fatal(err)
	}
	if said := run(t, n, 1, "tc", "qdisc", "show", "dev", "eth0"); !strings.Contains(said, "100Mbit") {
		t.Error(said)
	}
	said, err := n.switches.command(context.Background(), "tc", "qdisc", "show").Output()
	if strings.Count(string(said), "100Mbit") != 1 || strings.Count(string(said), "200Mbit") != 1 || err != nil {
		t.Errorf("%v, %s", err, said)
	}
	if err := n.Limit(1, "slow"); err == nil {
		t.Error("what rate is that?")
	}
}

func TestEveryLinkIsLimitedBothWays(t *testing.T) {
	n := up(t, Config{Racks: []int{3}, Rate: "200mbit"})
	for host := range n.Hosts() {
		if said := run(t, n, host, "tc", "qdisc", "show", "dev", "eth0"); !strings.Contains(said, "tbf") || !strings.Contains(said, "200Mbit") {
			t.Errorf("host %d sends without a limit: %s", host, said)
		}
		if said := run(t, n, host, "ip", "addr", "show", "dev", "eth0"); !strings.Contains(said, n.Address(host)+"/24") {
			t.Errorf("host %d has not its address: %s", host, said)
		}
	}
	said, err := n.switches.command(context.Background(), "tc", "qdisc", "show").Output()
	if got := strings.Count(string(said), "tbf"); got != 3 || err != nil {
		t.Errorf("%d ports of the switch are limited (%v): %s", got, err, said)
	}
}

// TestHostsReachEachOther looks from the first host to the last, which is in another rack, over a limited spine.
func TestHostsReachEachOther(t *testing.T) {
	n := up(t, Config{Racks: []int{2, 1}, Rate: "100mbit", Between: "50mbit"})
	other := up(t, Config{Racks: []int{1}, Rate: Unlimited}) // has the same addresses, and is not seen
	_ = other
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	hear := n.Command(ctx, 2, "bash", "-c", "exec 3<>/dev/tcp/"+n.Address(0)+"/1; true") // fails, but finds the way
	_ = hear.Run()
	if said := run(t, n, 2, "ip", "neigh", "show", n.Address(0)); !strings.Contains(said, "lladdr") {
		t.Errorf("the last host does not see the first: %q", said)
	}
	said, err := n.switches.command(ctx, "tc", "qdisc", "show").Output()
	if got := strings.Count(string(said), "rate 50Mbit"); got != 4 || err != nil {
		t.Errorf("%d ends of the links between racks are limited (%v): %s", got, err, said)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	n := up(t, Config{Racks: []int{2}, Rate: "1gbit"})
	holder := n.Process(1)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", holder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the holder of host 1 is still there: %v", err)
	}
	n.hosts, n.switches = nil, nil // the cleanup has nothing to do
}
