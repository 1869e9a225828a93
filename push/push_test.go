package push_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

func TestOneFileToThreeHosts(t *testing.T) {
	c := newCluster(t, 3)
	data := content(3 << 20)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	r := c.run(c.config("there/", file), push.ExitOK)
	c.check("there/file", data, c.agents...)
	if r.Bytes != uint64(len(data)) || r.Files != 1 || r.Root == "" || r.Repairs != 0 {
		t.Errorf("the report is %+v", r)
	}
	for _, h := range r.Hosts {
		if h.Written != 1 || h.Received < uint64(len(data)) || h.First == 0 {
			t.Errorf("%s is told of as %+v", h.Host, h)
		}
	}
}

func TestTree(t *testing.T) {
	c := newCluster(t, 3)
	dir := filepath.Join(t.TempDir(), "tree")
	want := make(map[string][]byte)
	for i, name := range []string{"a", "b/c", "b/d/e", "empty", "b/large"} {
		size := []int{10, 70_000, 1, 0, 1 << 20}[i]
		want[name] = content(size)
		write(t, filepath.Join(dir, name), want[name])
	}
	if err := os.Symlink("b/c", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	c.run(c.config("in", dir), push.ExitOK)
	for name, data := range want {
		c.check(filepath.Join("in/tree", name), data, c.agents...)
	}
	for _, n := range c.agents {
		if to, err := os.Readlink(filepath.Join(n.root, "in/tree/link")); err != nil || to != "b/c" {
			t.Errorf("%s has a link to %q: %v", n.name, to, err)
		}
	}
}

func TestRerunSendsNothing(t *testing.T) {
	c := newCluster(t, 2)
	data := content(2 << 20)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	c.run(c.config("there/", file), push.ExitOK)
	r := c.run(c.config("there/", file), push.ExitOK)
	for _, h := range r.Hosts {
		if h.Skipped != 1 || h.Written != 0 || h.Received > 200_000 {
			t.Errorf("the second time %s is told of as %+v", h.Host, h)
		}
	}
	c.check("there/file", data, c.agents...)
}

func TestOneHostLacksIt(t *testing.T) {
	c := newCluster(t, 3)
	data := content(2 << 20)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	first := c.config("there/", file)
	first.Hosts = first.Hosts[:2]
	c.run(first, push.ExitOK)
	r := c.run(c.config("there/", file), push.ExitOK)
	c.check("there/file", data, c.agents...)
	if r.Hosts[0].Skipped != 1 || r.Hosts[2].Written != 1 {
		t.Errorf("hosts are told of as %+v", r.Hosts)
	}
}

// Whoever holds a block can give it, and not the pusher alone: two hosts lack all that two others have.
func TestWhoeverHoldsItGivesIt(t *testing.T) {
	c := newCluster(t, 4)
	data := content(4 << 20)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	first := c.config("there/", file)
	first.Hosts = first.Hosts[:2]
	c.run(first, push.ExitOK)
	r := c.run(c.config("there/", file), push.ExitOK)
	c.check("there/file", data, c.agents...)
	sent, got, whole := sentBy("pusher", r), uint64(0), uint64(len(data))
	for i, h := range r.Hosts {
		sent, got = sent+h.Sent, got+h.Received
		if lacked := i >= 2; lacked != (h.Received >= whole) || lacked != (h.Written == 1) {
			t.Errorf("%s is told of as %+v", h.Host, h)
		}
	}
	// What members have sent is asked for before the last blocks have gone, now and then: the sums may lack some.
	if given := r.Hosts[0].Sent + r.Hosts[1].Sent; given < whole/2 || sent > got {
		t.Errorf("%d bytes were sent and %d have come, %d of them from who had it before: %+v", sent, got, given, r.Hops)
	}
}

// sentBy is how many bytes somebody has sent.
func sentBy(name string, r *push.Report) (bytes uint64) {
	for _, hop := range r.Hops {
		if hop.From == name {
			bytes += hop.Bytes
		}
	}
	return bytes
}

// What each host may send is in the plan of every one.
func TestEveryHostHearsTheLimit(t *testing.T) {
	c := newCluster(t, 2)
	puppets := []*puppet{new(puppet), new(puppet)}
	for i, p := range puppets {
		c.replace(c.agents[i], p)
	}
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), content(100_000)))
	config.Rate = 40e6
	c.run(config, push.ExitOK)
	for i, p := range puppets {
		if got := p.limit(); got != config.Rate {
			t.Errorf("%s is to send %d bytes a second, and should %d", c.agents[i].name, got, config.Rate)
		}
	}
}

func TestDifferentContentNeedsForce(t *testing.T) {
	c := newCluster(t, 2)
	old, data := content(100_000), content(100_001)[1:]
	write(t, filepath.Join(c.agents[1].root, "there/file"), old)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	r := c.run(c.config("there/", file), push.ExitPartial)
	if got := failures(r); got != "n2 preflight" {
		t.Errorf("failed are %s", got)
	}
	c.check("there/file", data, c.agents[0])
	c.check("there/file", old, c.agents[1])
	forced := c.config("there/", file)
	forced.Force = true
	c.run(forced, push.ExitOK)
	c.check("there/file", data, c.agents...)
}

func TestVerify(t *testing.T) {
	c := newCluster(t, 2)
	data := content(1 << 20)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	c.run(c.config("there/", file), push.ExitOK)
	if r, err := push.Verify(context.Background(), c.config("there/", file)); err != nil || r.Exit != push.ExitOK {
		t.Fatalf("%v: %+v", err, r)
	}
	wrong := append([]byte(nil), data...)
	wrong[500_000]++
	write(t, filepath.Join(c.agents[0].root, "there/file"), wrong)
	r, err := push.Verify(context.Background(), c.config("there/", file))
	if err != nil || r.Exit != push.ExitPartial || failures(r) != "n1 integrity" {
		t.Fatalf("%v: exit code %d, failed are %s", err, r.Exit, failures(r))
	}
	c.check("there/file", wrong, c.agents[0])
}

func TestDryRunChangesNothing(t *testing.T) {
	c := newCluster(t, 2)
	file := write(t, filepath.Join(t.TempDir(), "file"), content(1000))
	config := c.config("there/", file)
	config.DryRun = true
	r := c.run(config, push.ExitOK)
	for _, h := range r.Hosts {
		if h.Outcome != push.OutcomeReady {
			t.Errorf("nothing was pushed to %s, and it is %s", h.Host, h.Outcome)
		}
	}
	if r.Plan == nil || r.Plan.Hosts != 2 || r.Plan.Bytes != 1000 || r.Plan.Encrypted == "" {
		t.Errorf("the plan is %+v", r.Plan)
	}
	if _, err := os.Stat(filepath.Join(c.agents[0].root, "there")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is there: %v", err)
	}
}

func TestHostThatIsNotThere(t *testing.T) {
	c := newCluster(t, 2)
	data := content(100_000)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	config := c.config("there/", file)
	config.Hosts = append(config.Hosts, config.Hosts[0])
	config.Hosts[2].Name = "nobody"
	config.ConnectTimeout = 2 * time.Second
	r := c.run(config, push.ExitPartial)
	if got := failures(r); got != "nobody unreachable" {
		t.Errorf("failed are %s", got)
	}
	c.check("there/file", data, c.agents...)
	config.Hosts = config.Hosts[2:]
	c.run(config, push.ExitNoHost)
}

func TestSourceThatIsNotThere(t *testing.T) {
	c := newCluster(t, 1)
	r := c.run(c.config("there/", filepath.Join(t.TempDir(), "nothing")), push.ExitSource)
	if !strings.Contains(r.Error, "nothing") {
		t.Errorf("the error is %s", r.Error)
	}
}

func TestAgentsMayNotPush(t *testing.T) {
	c := newCluster(t, 1)
	c.pusher = c.issue("stranger", "agent")
	c.run(c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), nil)), push.ExitAuth)
}

func TestExpect(t *testing.T) {
	c := newCluster(t, 1)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), []byte("abc")))
	config.Expect = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	c.run(config, push.ExitOK)
	config.Dest = "elsewhere/"
	config.Expect = strings.Replace(config.Expect, "ba", "ab", 1)
	c.run(config, push.ExitIntegrity)
	if _, err := os.Stat(filepath.Join(c.agents[0].root, "elsewhere/file")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is there: %v", err)
	}
}
