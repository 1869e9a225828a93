package muster

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
)

// brief is after how long devices give up a silent peer here.
const brief = 100 * time.Millisecond

// idler is a device that does something after one of the calls by which groups are made, and holds up its loop meanwhile.
type idler struct {
	driver.Device
	left atomic.Int64 // calls until then
	do   func()
	deaf bool // it never connects
}

func (i *idler) count() {
	if i.left.Add(-1) == 0 {
		i.do()
	}
}

// NewDomain implements driver.Device.
func (i *idler) NewDomain() (driver.Domain, error) {
	d, err := i.Device.NewDomain()
	return &idleDomain{d, i}, err
}

type idleDomain struct {
	driver.Domain
	idler *idler
}

// Alloc implements driver.Allocator.
func (d *idleDomain) Alloc(size int, access driver.Access) (driver.Memory, error) {
	defer d.idler.count()
	return d.Domain.(driver.Allocator).Alloc(size, access)
}

// NewQueuePair implements driver.Domain.
func (d *idleDomain) NewQueuePair(config driver.QueueConfig) (driver.QueuePair, error) {
	defer d.idler.count()
	q, err := d.Domain.NewQueuePair(config)
	return &idlePair{q, d.idler}, err
}

type idlePair struct {
	driver.QueuePair
	idler *idler
}

// PostReceive implements driver.QueuePair.
func (q *idlePair) PostReceive(list []driver.Receive) (int, error) {
	defer q.idler.count()
	return q.QueuePair.PostReceive(list)
}

// Connect implements driver.QueuePair.
func (q *idlePair) Connect(tag driver.Tag, peer driver.Address) error {
	q.idler.count() // before it, too: the others have passed the barrier
	defer q.idler.count()
	if q.idler.deaf {
		return nil
	}
	return q.QueuePair.Connect(tag, peer)
}

// Post implements driver.QueuePair.
func (q *idlePair) Post(list []driver.Request) (int, error) {
	defer q.idler.count()
	return q.QueuePair.Post(list)
}

// idleMembers are three, of which the last has a device that idles.
func idleMembers(t testing.TB, lanes soft.Lanes, timeout time.Duration, idler *idler) []*member {
	t.Helper()
	return newMembersOn(t, 3, func(i int) *member {
		config := soft.Config{Lanes: lanes, PeerTimeout: timeout}
		if i < 2 {
			return openMember(t, room, config, nil)
		}
		return openMember(t, room, config, func(inner driver.Device) driver.Device { idler.Device = inner; return idler })
	})
}

// calls is how many moments there are while a device makes a group of three, and a few more: its memory and four queue pairs are
// made, receives posted on two of them, all of them connected, and words said.
const (
	connects = 1 + 4 + 2 + 1 // the first of them
	calls    = connects + 2*4 - 1 + 2
)

// TestALateMember: a member that stays away for longer than the devices wait for a peer, at whatever moment, costs only time.
func TestALateMember(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for name, lanes := range laneNames {
		for n := range int64(calls) {
			t.Run(fmt.Sprint(name, " ", n+1), func(t *testing.T) {
				t.Parallel()
				idler := &idler{do: func() { time.Sleep(3 * brief) }}
				members := idleMembers(t, lanes, brief, idler)
				idler.left.Store(n + 1)
				var ready atomic.Int32
				closeAll(t, members, createAll(t, members, func(_ int, m *member) []Plan {
					config := m.smallConfig("images")
					config.Ready = func() { ready.Add(1) }
					return []Plan{{Config: config}}
				}))
				if ready.Load() != 3 {
					t.Errorf("Ready was called %d times", ready.Load())
				}
			})
		}
	}
}

// TestAMemberThatStaysAway is named, whether its loop stands still or its queue pairs do not connect, and however long devices
// would wait for it.
func TestAMemberThatStaysAway(t *testing.T) {
	for name, lanes := range laneNames {
		for _, timeout := range []time.Duration{brief, patient} {
			for _, deaf := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", timeout, " ", deaf), func(t *testing.T) { stayAway(t, lanes, timeout, deaf) })
			}
		}
	}
}

func stayAway(t *testing.T, lanes soft.Lanes, timeout time.Duration, deaf bool) {
	t.Parallel()
	over := make(chan struct{})
	idler := &idler{deaf: deaf, do: func() { <-over }}
	members := idleMembers(t, lanes, timeout, idler)
	if !deaf {
		idler.left.Store(connects)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 40*brief)
	defer cancel()
	context.AfterFunc(ctx, func() { close(over) })
	for _, err := range concurrently(members, func(_ int, m *member) error {
		_, err := Create(ctx, m.mesh, m.loop, m.domain, []Plan{{Config: m.smallConfig("images")}})
		return err
	})[:2] {
		mustContain(t, err, "member 2 (m2)")
		if deaf && timeout == patient {
			mustContain(t, err, "was not connected, with member 2 (m2): not in time")
		}
		if !deaf && !slices.Contains(mesh.Failed(err), 2) {
			t.Error(err)
		}
	}
}

// TestADeviceThatDies while groups are made, at whatever moment: nobody hangs, and the others hear who it was. At the last
// moments that may be a failure of a group that was made.
func TestADeviceThatDies(t *testing.T) {
	for name, lanes := range laneNames {
		for n := range int64(calls) {
			if testing.Short() && n%4 > 0 {
				continue
			}
			t.Run(fmt.Sprint(name, " ", n+1), func(t *testing.T) {
				t.Parallel()
				idler := &idler{}
				members, ctx := idleMembers(t, lanes, brief, idler), testContext(t)
				idler.do = members[2].kill
				idler.left.Store(n + 1)
				for _, err := range concurrently(members, func(_ int, m *member) error {
					groups, err := Create(ctx, m.mesh, m.loop, m.domain, []Plan{{Config: m.smallConfig("images")}})
					if err == nil {
						_ = Close(ctx, groups)
					}
					return err
				})[:2] {
					if err != nil || n < connects {
						mustContain(t, err, "(m2)")
					}
				}
			})
		}
	}
}
