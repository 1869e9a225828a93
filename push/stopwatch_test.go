package push

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/member"
)

// Only what was said of links, or measured of the links themselves, says how fast nobody can be.
func TestMostRate(t *testing.T) {
	for _, c := range []struct {
		name  string
		links links
		limit uint64
		want  float64
	}{
		{"nothing", links{}, 0, 0},
		{"a limit", links{}, 3e6, 3e6},
		{"links", links{rate: 80e6, isMost: true}, 0, 10e6},
		{"links and a lower limit", links{rate: 80e6, isMost: true}, 3e6, 3e6},
		{"links and a higher limit", links{rate: 80e6, isMost: true}, 30e6, 10e6},
		{"links that may be faster", links{rate: 80e6}, 0, 0},
		{"links that may be faster, and a limit", links{rate: 80e6}, 30e6, 30e6},
	} {
		p := &pusher{Config: Config{Rate: c.limit}, links: c.links}
		if got := p.mostRate(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Time that a disk took in the groups before is none of this one, also if its host has not spoken of this one yet.
func TestFullOfFormerGroups(t *testing.T) {
	h := &host{}
	p := &pusher{board: newBoard(context.Background()), member: new(member.Member)}
	p.board.notes[h] = &note{status: control.Status{Epoch: 1, Hops: []control.Hop{{Rank: 0}}, Disk: control.Disk{Full: int64(time.Minute)}}}
	g := &group{epoch: 2, hosts: []*host{h}}
	before := p.counts(g)
	p.board.notes[h].status.Epoch = 2
	now := p.counts(g)
	if took := now[1].Full - before[1].Full; took != 0 || len(before[1].Hops) != 0 || len(now[1].Hops) != 1 {
		t.Errorf("before: %+v, now: %+v", before[1], now[1])
	}
}

// What went so fast that processors may have decided it is no measure of the links.
func TestMeasured(t *testing.T) {
	for took, want := range map[time.Duration]links{
		40 * time.Millisecond: {rate: 1e6 * 8 / 0.04, isMost: true},
		10 * time.Millisecond: {rate: 1e6 * 8 / 0.01},
		-time.Millisecond:     {rate: 1e6 * 8 / 1e-6},
	} {
		var got links
		if got.measured(1e6, took); math.Abs(got.rate-want.rate) > 1 || got.isMost != want.isMost {
			t.Errorf("%v: %+v, want %+v", took, got, want)
		}
	}
}

// Control goes by TCP: how fast that is says nothing of RDMA, and so nothing is said.
func TestLinksOfRDMAAreNotMeasured(t *testing.T) {
	elsewhere := []*host{{address: "10.0.0.1:7470", greeting: control.Greeting{Link: 1e9}}}
	p := &pusher{way: wayIBV}
	if l := p.findLinks(context.Background(), elsewhere); l != (links{}) {
		t.Errorf("%+v", l)
	}
	p.LinkRate = 1e11
	if l := p.findLinks(context.Background(), elsewhere); l != (links{rate: 1e11, isMost: true}) {
		t.Errorf("%+v", l)
	}
}

// A limit is one for probes, too: of how many bytes they have, and how soon they follow each other.
func TestProbesKeepToTheLimit(t *testing.T) {
	for limit, want := range map[uint64][]int{0: {0, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20}, 1e6: {0}, 10e6: {0, 256 << 10, 512 << 10}} {
		synctest.Test(t, func(t *testing.T) {
			p, began, sent, bytes := &pusher{Config: Config{Rate: limit}}, time.Now(), []int(nil), 0
			p.probeBy(t.Context(), func(size int) (time.Duration, error) {
				sent, bytes = append(sent, size), bytes+size
				return time.Millisecond, nil
			})
			if !slices.Equal(sent, want) {
				t.Errorf("a limit of %d: probes of %v, want %v", limit, sent, want)
			}
			if took := time.Since(began) + time.Duration(len(sent))*time.Millisecond; limit > 0 && took.Seconds() < float64(bytes)/float64(limit) {
				t.Errorf("a limit of %d: %d bytes in %v", limit, bytes, took)
			}
		})
	}
}
