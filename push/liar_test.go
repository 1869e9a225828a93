package push_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
)

func TestLiarIsFoundOut(t *testing.T) {
	c := newCluster(t, 3)
	c.replace(c.agents[0], &puppet{lies: true})
	data := content(large)
	r := c.run(c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data)), push.ExitPartial)
	if got := failures(r); got != "n1 integrity" {
		t.Errorf("failed are %s: %+v", got, r.Hosts)
	}
	c.check("there/file", data, c.agents[1:]...)
}

// Who says of every group that its connection with a neighbour broke, and nobody else has seen it, costs one of the others at most.
func TestSlander(t *testing.T) {
	c := newCluster(t, 5)
	c.replace(c.agents[0], &puppet{
		says: func(rank, members int) *control.GroupFailed {
			return &control.GroupFailed{Rank: 1 + rank%(members-1), Cause: "it broke"}
		},
		holds: func() int { return 0 }, // the push is not over before it is found out
	})
	data := content(large)
	r := c.run(c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data)), push.ExitPartial)
	if got := strings.Fields(failures(r)); len(got) > 4 || got[0] != "n1" {
		t.Errorf("failed are %s", failures(r))
	}
	for i, h := range r.Hosts {
		if h.Outcome == push.OutcomeVerified {
			c.check("there/file", data, c.agents[i])
		}
	}
}

// Who ends every group, and nobody else sees it end, does not go on for ever with blocks that it has, and has not, and has again.
func TestHostThatEndsEveryGroup(t *testing.T) {
	c := newCluster(t, 3)
	asked := 0
	c.replace(c.agents[0], &puppet{
		says:  func(int, int) *control.GroupFailed { return &control.GroupFailed{Rank: -1, Cause: "x", Told: true} },
		holds: func() int { asked++; return 1 + asked%2 },
	})
	data := content(large)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	groups, tell := 0, config.Events
	config.Events = func(e push.Event) {
		if tell(e); e.Kind == push.EventRepair {
			if groups++; groups > 20 {
				stop()
			}
		}
	}
	r := c.runIn(ctx, config, push.ExitPartial)
	if got := failures(r); got != "n1 unreachable" {
		t.Errorf("failed are %s", got)
	}
	c.check("there/file", data, c.agents[1:]...)
}

func TestHostThatRefusesAStep(t *testing.T) {
	for method, class := range map[string]string{
		control.MethodOpen: "other", control.MethodForm: "other", control.MethodConnect: "unreachable", control.MethodBegin: "other", control.MethodFinish: "other",
	} {
		t.Run(method, func(t *testing.T) {
			c := newCluster(t, 3)
			c.replace(c.agents[1], &puppet{refuses: method})
			data := content(200_000)
			if method == control.MethodBegin { // nobody is told to, unless somebody holds something
				if err := os.Mkdir(filepath.Join(c.agents[0].root, "there"), 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(c.agents[0].root, "there", "file"), data)
			}
			r := c.run(c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data)), push.ExitPartial)
			if got := failures(r); got != "n2 "+class {
				t.Errorf("failed are %s: %+v", got, r.Hosts)
			}
			c.check("there/file", data, c.agents[0], c.agents[2])
		})
	}
}

func TestStall(t *testing.T) {
	c := newCluster(t, 1)
	p := &puppet{hangs: make(chan struct{})}
	c.replace(c.agents[0], p)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), content(200_000)))
	config.StallTimeout = 2 * time.Second
	t.Cleanup(func() { close(p.hangs) }) // before the cluster ends
	r := c.run(config, push.ExitLate)
	if got := failures(r); got != "n1 late" {
		t.Errorf("failed are %s", got)
	}
}

// A disk that hangs keeps the others from nothing, although its agent answers: they go on without it when nobody has got on for a while.
func TestDiskHangs(t *testing.T) {
	c := newCluster(t, 3)
	p := &puppet{hangs: make(chan struct{})}
	c.replace(c.agents[0], p)
	data := content(200_000)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data))
	config.StallTimeout = 3 * time.Second
	config.LinkRate = 8e9
	t.Cleanup(func() { close(p.hangs) }) // before the cluster ends
	r := c.run(config, push.ExitPartial)
	if got := failures(r); got != "n1 late" || !strings.Contains(r.Hosts[0].Text, "all others waited for it") {
		t.Errorf("failed are %s: %s", got, r.Hosts[0].Text)
	}
	c.check("there/file", data, c.agents[1:]...)
}

// A disk that hangs looks slow at first. Ending the group to leave its host out takes as long as the disk: others do not fail for it.
func TestSlowDiskHangs(t *testing.T) {
	c := newCluster(t, 3)
	p := &puppet{hangs: make(chan struct{}), isFull: true}
	c.replace(c.agents[0], p)
	data := content(200_000)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data))
	config.StallTimeout = 4 * time.Second
	config.LinkRate = 8e9
	t.Cleanup(func() { close(p.hangs) }) // before the cluster ends
	r := c.run(config, push.ExitPartial)
	if got := failures(r); got != "n1 late" {
		t.Errorf("failed are %s: %s", got, r.Hosts[0].Text)
	}
	c.check("there/file", data, c.agents[1:]...)
}

// unread is blocks that nobody can read any more: the disk hangs.
type unread struct {
	member.Blocks
	hangs chan struct{}
}

func (u unread) Fetch(l manifest.Layout, block int, into []byte) error {
	if l.Stream == manifest.ContentStream {
		<-u.hangs
	}
	return u.Blocks.Fetch(l, block, into)
}

// A host that had everything is not waited for as one that gets too little, but as one whose disk does not give it.
func TestDiskOfAHolderHangs(t *testing.T) {
	c := newCluster(t, 3)
	data := content(large)
	file := write(t, filepath.Join(t.TempDir(), "file"), data)
	config := c.config("there/", file)
	config.Hosts = config.Hosts[:1]
	c.run(config, push.ExitOK)
	n := c.agents[0]
	n.end(t)
	hangs := make(chan struct{})
	t.Cleanup(func() { close(hangs) }) // before the cluster ends
	c.agents[0] = c.start(&node{name: n.name, root: n.root, ring: n.ring, blocks: func(b member.Blocks) member.Blocks { return unread{b, hangs} }})
	config = c.config("there/", file)
	config.StallTimeout = 2 * time.Second
	r := c.run(config, push.ExitPartial)
	if got := failures(r); got != "n1 late" {
		t.Errorf("failed are %s", got)
	}
	c.check("there/file", data, c.agents[1:]...)
}

// A commit that hangs is the trouble of one host only.
func TestCommitHangs(t *testing.T) {
	c := newCluster(t, 3)
	p := &puppet{commits: make(chan struct{})}
	c.replace(c.agents[0], p)
	data := content(200_000)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data))
	config.StallTimeout = 500 * time.Millisecond
	config.LinkRate = 8e9
	t.Cleanup(func() { close(p.commits) }) // before the cluster ends
	r := c.run(config, push.ExitPartial)
	if got := failures(r); got != "n1 late" || !strings.Contains(r.Hosts[0].Text, "naming") {
		t.Errorf("failed are %s: %s", got, r.Hosts[0].Text)
	}
	c.check("there/file", data, c.agents[1:]...)
}

// One host sends at a quarter of the rate of the others, which in lock step would slow down all of them.
func TestStragglerIsServedLast(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds until a host is known to be slow")
	}
	const rate = 2 << 20
	c := newCluster(t, 7)
	c.replace(c.agents[2], &puppet{rate: rate / 4})
	data := content(16 << 20)
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), data))
	config.Rate, config.LinkRate = rate, 8*rate
	r := c.run(config, push.ExitOK)
	for i, h := range r.Hosts {
		if h.Demoted != (i == 2) {
			t.Errorf("%s is demoted: %v", h.Host, h.Demoted)
		}
	}
	c.check("there/file", data, c.agents[0], c.agents[1], c.agents[3], c.agents[6])
	t.Logf("%v, efficiency %.2f, %s", r.Elapsed, r.Efficiency, r.Bottleneck)
}

// All others refuse the group that is made without a slow host: it is served all the same.
func TestStragglerIsLeftAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds until a host is known to be slow")
	}
	const rate = 2 << 20
	c := newCluster(t, 7)
	others := make([]*puppet, len(c.agents))
	for i, n := range c.agents {
		if others[i] = new(puppet); i == 2 {
			others[i].rate = rate / 4
		}
		c.replace(n, others[i])
	}
	config := c.config("there/", write(t, filepath.Join(t.TempDir(), "file"), content(16<<20)))
	config.Rate, config.LinkRate = rate, 8*rate
	tell := config.Events
	config.Events = func(e push.Event) {
		if tell(e); e.Kind == push.EventDemoted {
			for i, p := range others {
				p.refuse(i != 2, control.MethodForm)
			}
		}
	}
	r := c.run(config, push.ExitPartial)
	for i, h := range r.Hosts {
		if h.Demoted != (i == 2) || (h.Outcome == push.OutcomeVerified) != (i == 2) {
			t.Errorf("%+v", h)
		}
	}
}
