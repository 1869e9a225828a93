package push

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// The list of files is received, too, and is no content: of a large tree that lacked a block it is most of what came.
func TestTheManifestIsNoContent(t *testing.T) {
	h := &host{name: "node1"}
	p := &pusher{board: newBoard(context.Background()), hosts: []*host{h}, sending: time.Second,
		manifest: manifest.NewLayout(manifest.ManifestStream, 300<<20, 1<<20), content: manifest.NewLayout(manifest.ContentStream, 1<<30, 1<<20)}
	for received, want := range map[uint64]uint64{
		0: 0, p.manifest.WireSize() / 2: 0, p.manifest.WireSize() + uint64(p.content.Wire()): 1 << 20, p.manifest.WireSize() + p.content.WireSize(): 1 << 30,
	} {
		p.board.notes[h] = &note{status: control.Status{Received: received}}
		r := &Report{}
		if p.reportRates(r); p.moved() != want || r.Rate != float64(want) {
			t.Errorf("of %d bytes that came %d are content, at %v a second; want %d", received, p.moved(), r.Rate, want)
		}
	}
}

// Hosts of one machine share its processors: what comes to all of them together cannot come faster than these bring it.
func TestBoundOfOneMachine(t *testing.T) {
	p := &pusher{board: newBoard(context.Background()), sending: time.Minute, traffic: traffic{{"a", "b"}: {1e9, time.Second}},
		manifest: manifest.NewLayout(manifest.ManifestStream, 1, 1<<20), content: manifest.NewLayout(manifest.ContentStream, 1<<30, 1<<20)}
	for range 100 * runtime.NumCPU() {
		h := new(host)
		p.hosts = append(p.hosts, h)
		p.board.notes[h] = &note{status: control.Status{Received: 1e9}}
	}
	for _, c := range []struct {
		local bool
		limit uint64
		want  time.Duration
	}{{false, 0, time.Second}, {true, 0, 100 * time.Second}, {true, 1e9, time.Second}} {
		p.links.local, p.Rate = c.local, c.limit
		r := &Report{}
		if p.reportRates(r); r.Bound.Round(time.Second) != c.want {
			t.Errorf("%+v: at best %v", c, r.Bound)
		}
	}
}

// Hops that sent a few bytes into buffers do not tell how fast links are.
func TestFastestIsNoBurst(t *testing.T) {
	burst, usual, slow := sample{2e6, 40 * time.Millisecond}, sample{12e6, 2 * time.Second}, sample{12e6, 4 * time.Second}
	for _, c := range []struct {
		all  traffic
		want float64
	}{
		{traffic{}, 0}, {traffic{{"a", "b"}: sample{2e6, time.Millisecond}}, 0}, {traffic{{"a", "b"}: burst}, 50e6},
		{traffic{{"a", "b"}: burst, {"a", "c"}: burst, {"b", "c"}: usual, {"c", "b"}: usual, {"b", "a"}: usual, {"c", "a"}: slow}, 6e6},
		{traffic{{"a", "b"}: usual, {"a", "c"}: {12e6, 100 * time.Second}}, 6e6},
		{traffic{{"a", "b"}: usual, {"a", "c"}: {1 << 63, math.MaxInt64}, {"b", "c"}: {1 << 63, math.MaxInt64}}, 1e9},
	} {
		if rate := c.all.fastest(); math.Round(rate) != c.want {
			t.Errorf("of %v the fastest is %v, should be %v", c.all, rate, c.want)
		}
	}
}

// Rates are told in the unit that fits them, as in the rest of a report.
func TestBottleneckRates(t *testing.T) {
	p := &pusher{board: newBoard(context.Background()), sending: time.Second}
	hop := HopReport{From: "a", To: "b", Rate: 92.81e6}
	for _, c := range []struct {
		rate   float64
		report Report
		limit  uint64
		want   string
	}{
		{1.1825e9, Report{Efficiency: 0.9}, 0, "the links, all alike: 1.18 GB/s"},
		{1.1825e9, Report{Efficiency: 0.9, Hops: []HopReport{hop}}, 0, "hop a → b: 92.8 MB/s on the wire, where 1.18 GB/s is usual"},
		{1.1825e9, Report{Rate: 500e3}, 500e3, "the limit: each host sends 500 kB/s at most"},
		{1.1825e9, Report{}, 0, "the hosts' processors: blocks are fast on the wire (1.18 GB/s), and wait before it"},
	} {
		p.traffic, p.Rate = traffic{{"a", "b"}: {uint64(c.rate), time.Second}}, c.limit
		if got := p.bottleneck(&c.report); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// When all waited for a host until it was given up, that is what held them up, whatever hops and processors did.
func TestHostsThatWereWaitedFor(t *testing.T) {
	p := &pusher{board: newBoard(context.Background()), sending: time.Second, traffic: traffic{{"a", "b"}: {1e9, time.Second}}}
	for _, name := range []string{"node1", "node2", "node3"} {
		h := &host{name: name}
		p.hosts = append(p.hosts, h)
		p.board.notes[h] = &note{status: control.Status{Received: 5}}
	}
	const held = "node[1-2], until the others went on without"
	p.hosts[0].trouble = &control.Trouble{Class: control.Unreachable}
	p.hosts[1].trouble = &control.Trouble{Class: control.Late}
	p.hosts[2].trouble = &control.Trouble{Class: control.Preflight}
	if got := p.bottleneck(&Report{Efficiency: 0.4}); got != held {
		t.Error(got)
	}
	if got := p.bottleneck(&Report{Efficiency: 0.95}); got == held {
		t.Error("nobody was held up, and it says: " + got)
	}
	p.hosts[0].trouble, p.hosts[1].trouble, p.hosts[1].demoted = nil, nil, true
	if got := p.bottleneck(&Report{Efficiency: 0.4}); got != "node2, slow, and served after the others" {
		t.Error(got)
	}
}
