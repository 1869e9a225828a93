package push_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

// large is how much is pushed where something happens on the way, slowed down so that there is a way.
const (
	large = 8 << 20
	slow  = 3 << 20 // bytes a second of each host
)

// once does something when a push has come so far, at any host: bytes of all hosts together.
func once(config *push.Config, bytes uint64, do func()) {
	var first sync.Once
	tell := config.Events
	config.Events = func(e push.Event) {
		tell(e)
		if e.Kind == push.EventProgress && e.Progress.Phase == "send" && e.Progress.Done >= bytes {
			first.Do(func() { go do() })
		}
	}
}

func TestInterruptedAndResumed(t *testing.T) {
	c := newCluster(t, 3)
	data := content(large)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	config := c.config("there/", file)
	config.Rate, config.CacheDir = slow, t.TempDir()
	ctx, interrupt := context.WithCancelCause(context.Background())
	defer interrupt(nil)
	once(&config, large/2, func() { interrupt(push.ErrInterrupted) })
	r := c.runIn(ctx, config, push.ExitInterrupted)
	had := make(map[string]uint64)
	for _, h := range r.Hosts {
		had[h.Host] = h.Received
	}
	config = c.config("there/", file)
	r = c.run(config, push.ExitOK)
	c.check("there/file", data, c.agents...)
	for _, h := range r.Hosts {
		if had[h.Host] < large/50 || h.Received+had[h.Host] > large+large/4 {
			t.Errorf("%s received %d bytes before and %d after", h.Host, had[h.Host], h.Received)
		}
	}
}

func TestAgentDies(t *testing.T) {
	c := newCluster(t, 4)
	data := content(large)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data))
	config.Rate = slow
	once(&config, large/2, func() { c.agents[1].kill(t) })
	r := c.run(config, push.ExitPartial)
	if got := failures(r); got != "n2 unreachable" {
		t.Errorf("failed are %s: %+v", got, r.Hosts)
	}
	if r.Repairs == 0 {
		t.Error("nothing was repaired")
	}
	c.check("there/file", data, c.agents[0], c.agents[2], c.agents[3])
	for _, h := range r.Hosts {
		if h.Received > large+large/4 {
			t.Errorf("%s received %d bytes for %d", h.Host, h.Received, large)
		}
	}
}

func TestTwoAgentsDie(t *testing.T) {
	c := newCluster(t, 4)
	data := content(large)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data))
	config.Rate = slow
	once(&config, large/2, func() { go c.agents[0].kill(t); c.agents[3].kill(t) })
	r := c.run(config, push.ExitPartial)
	if got := failures(r); got != "n1 unreachable, n4 unreachable" {
		t.Errorf("failed are %s", got)
	}
	c.check("there/file", data, c.agents[1], c.agents[2])
}

func TestAllAgentsDie(t *testing.T) {
	c := newCluster(t, 2)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), content(large)))
	config.Rate = slow
	once(&config, large/2, func() { go c.agents[0].kill(t); c.agents[1].kill(t) })
	c.run(config, push.ExitNoHost)
}

func TestAgentThatIsStopped(t *testing.T) {
	c := newCluster(t, 3)
	data := content(large)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data))
	config.Rate = slow
	once(&config, large/2, func() { c.agents[2].end(t) })
	r := c.run(config, push.ExitPartial)
	if got := failures(r); got != "n3 unreachable" || !strings.Contains(r.Hosts[2].Text, "stopping") {
		t.Errorf("failed are %s: %s", got, r.Hosts[2].Text)
	}
	c.check("there/file", data, c.agents[0], c.agents[1])
}

func TestSecondPushToTheSamePath(t *testing.T) {
	c := newCluster(t, 1)
	data := content(large)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	config := c.config("there/", file)
	config.Rate = slow
	second := make(chan *push.Report, 1)
	once(&config, large/8, func() {
		r, _ := push.Run(context.Background(), c.config("there/", file))
		second <- r
	})
	first := c.run(config, push.ExitOK)
	r := <-second
	if r == nil || r.Exit != push.ExitPreflight || !strings.Contains(r.Hosts[0].Text, first.ID) {
		t.Fatalf("the second push ended so: %+v", r)
	}
	c.check("there/file", data, c.agents...)
}

func TestDeadline(t *testing.T) {
	c := newCluster(t, 2)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), content(large)))
	config.Rate, config.Deadline = slow/4, 2*time.Second
	r := c.run(config, push.ExitLate)
	if got := failures(r); got != "n1 late, n2 late" {
		t.Errorf("failed are %s", got)
	}
	if _, err := os.Stat(filepath.Join(c.agents[0].root, "there/file")); err == nil {
		t.Error("a file that is not complete has its name")
	}
}

func TestSourceChangesWhileItIsSent(t *testing.T) {
	c := newCluster(t, 2)
	data := content(5 * large) // so that not everything is read ahead
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	config := c.config("there/", file)
	config.Rate, config.Plain = 5*slow, true
	once(&config, large/8, func() { write(t, file, data[1:]) })
	r := c.run(config, push.ExitSource)
	if !strings.Contains(r.Error, "changed") || failures(r) != "n1 source, n2 source" {
		t.Errorf("the error is %q, failed are %s", r.Error, failures(r))
	}
	for _, n := range c.agents {
		if _, err := os.Stat(filepath.Join(n.root, "there/file")); err == nil {
			t.Errorf("%s has a file of two states", n.name)
		}
	}
}
