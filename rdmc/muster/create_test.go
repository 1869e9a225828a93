package muster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// room is enough for a few groups.
const room = 4096

var laneNames = map[string]soft.Lanes{"process": soft.InProcess, "shm": soft.SharedMemory, "tcp": soft.TCP}

func TestCreateAndSend(t *testing.T) {
	for name, lanes := range laneNames {
		t.Run(name, func(t *testing.T) { createAndSend(t, newMembers(t, 4, room, lanes)) })
	}
}

func createAndSend(t *testing.T, members []*member) {
	t.Helper()
	const size = 100_000
	completed := make(chan int, len(members))
	groups := createAll(t, members, func(i int, m *member) []Plan {
		config := m.smallConfig("images")
		config.Completed = func(rdmc.Delivery) { completed <- i }
		return []Plan{{Config: config}}
	})
	source := members[0].memory.Bytes()[:size]
	for i := range source {
		source[i] = byte(i * i)
	}
	check(t, groups[0][0].Do(testContext(t), func(g *rdmc.Group) error {
		_, err := g.Send(rdmc.Place{Memory: members[0].memory}, size)
		return err
	}))
	ctx := testContext(t)
	for range members {
		select {
		case <-completed:
		case <-ctx.Done():
			t.Fatal("not everybody completes")
		}
	}
	closeAll(t, members, groups)
	for i, m := range members {
		if !bytes.Equal(m.memory.Bytes()[:size], source) {
			t.Errorf("member %d has something else", i)
		}
	}
}

// TestSubsets: overlapping groups of some members, with different roots.
func TestSubsets(t *testing.T) {
	members := newMembers(t, 4, room, soft.InProcess)
	ranks := [][]int{{0, 1, 2}, {3, 2, 1}, {2}, {1, 0}, {0, 3}}
	groups := createAll(t, members, func(i int, m *member) (plans []Plan) {
		for _, who := range ranks {
			if slices.Contains(who, i) {
				plans = append(plans, Plan{Config: m.smallConfig(fmt.Sprint(who)), Ranks: who})
			}
		}
		return plans
	})
	for i, want := range []int{3, 3, 3, 2} {
		if len(groups[i]) != want {
			t.Errorf("member %d is in %d groups, want %d", i, len(groups[i]), want)
		}
	}
	closeAll(t, members, groups)
}

// TestAThousandGroups (section 5.2.2: Cosmos has 455 of them).
func TestAThousandGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	many := 1000
	if verbstest.RaceDetector {
		many = 150 // freeing memory looks at all queue pairs of its domain, which takes the detector its time
	}
	members := newMembers(t, 4, 1<<18, soft.InProcess)
	start := time.Now()
	groups := createAll(t, members, func(i int, m *member) (plans []Plan) {
		for k := range many {
			root := k % 4
			plans = append(plans, Plan{Config: m.smallConfig(fmt.Sprint("group ", k)), Ranks: []int{root, (root + 1) % 4, (root + 2) % 4, (root + 3) % 4}})
		}
		return plans
	})
	t.Logf("%d groups of 4 in %v", many, time.Since(start))
	closeAll(t, members, groups)
}

// TestPlansInCircles: pairs of members agree on the order of their groups, but not all three do. None waits for a group that
// another has not come to yet.
func TestPlansInCircles(t *testing.T) {
	members := newMembers(t, 3, 1<<16, soft.InProcess)
	const each = batch + 8
	groups := createAll(t, members, func(i int, m *member) (plans []Plan) {
		before := (i + 2) % 3
		for k := range 2 * each {
			ranks := []int{i, (i + 1) % 3}
			if k >= each {
				ranks = []int{before, i}
			}
			plans = append(plans, Plan{Config: m.smallConfig(fmt.Sprint(ranks, k%each)), Ranks: ranks})
		}
		return plans
	})
	closeAll(t, members, groups)
}

// TestAMemberWithoutGroups takes part in all turns.
func TestAMemberWithoutGroups(t *testing.T) {
	members := newMembers(t, 3, 1<<16, soft.InProcess)
	groups := createAll(t, members, func(i int, m *member) (plans []Plan) {
		for k := range 3 * batch {
			if i != 2 {
				plans = append(plans, Plan{Config: m.smallConfig(fmt.Sprint(k)), Ranks: []int{0, 1}})
			}
		}
		return plans
	})
	closeAll(t, members, groups)
}

// TestManyGroupsOnEveryLane: a device is not asked to call thousands of peers at once.
func TestManyGroupsOnEveryLane(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for name, lanes := range laneNames {
		t.Run(name, func(t *testing.T) {
			members := newMembers(t, 4, 1<<16, lanes)
			closeAll(t, members, createAll(t, members, func(_ int, m *member) (plans []Plan) {
				for k := range 100 {
					plans = append(plans, Plan{Config: m.smallConfig(fmt.Sprint("group ", k))})
				}
				return plans
			}))
		})
	}
}

// TestDifferencesAreNamedAtAll: member 1 differs, and everybody hears in what.
func TestDifferencesAreNamedAtAll(t *testing.T) {
	for want, change := range map[string]func(*Plan){
		"block size":  func(p *Plan) { p.BlockSize = 2048 },
		"algorithm":   func(p *Plan) { p.Algorithm = schedule.Chain },
		"group name":  func(p *Plan) { p.Name = "other" },
		"member 2":    func(p *Plan) { p.Members = []string{"m0", "m1", "x"} },
		"bad argumen": func(p *Plan) { p.Credits = -1 },
	} {
		t.Run(want, func(t *testing.T) {
			members, ctx := newMembers(t, 3, room, soft.InProcess), testContext(t)
			errs := concurrently(members, func(i int, m *member) error {
				plan := Plan{Config: m.smallConfig("images"), Ranks: []int{0, 1, 2}}
				if i == 1 {
					change(&plan)
				}
				_, err := Create(ctx, m.mesh, m.loop, m.domain, []Plan{plan})
				return err
			})
			for i, err := range errs {
				mustContain(t, err, want)
				if i != 1 {
					mustContain(t, err, "(m1)")
				}
			}
			createAndSend(t, members) // nothing is broken
		})
	}
}

func TestANumberOfGroupsThatDiffers(t *testing.T) {
	members, ctx := newMembers(t, 2, room, soft.InProcess), testContext(t)
	for i, err := range concurrently(members, func(i int, m *member) error {
		plans := []Plan{{Config: m.smallConfig("a")}, {Config: m.smallConfig("b")}}
		_, err := Create(ctx, m.mesh, m.loop, m.domain, plans[i:])
		return err
	}) {
		mustContain(t, err, fmt.Sprintf("member %d (m%d)", 1-i, 1-i), "groups together with this member")
		if !errors.Is(err, ErrDisagree) {
			t.Errorf("%v is not ErrDisagree", err)
		}
	}
}

func TestBadPlans(t *testing.T) {
	members := newMembers(t, 1, room, soft.InProcess)
	m := members[0]
	for want, plan := range map[string]Plan{
		"not in the mesh":       {Ranks: []int{0, 1}},
		"there twice":           {Ranks: []int{0, 0}},
		"leave the plan out":    {Ranks: []int{}},
		"2 names for 1 members": {Config: rdmc.Config{Members: []string{"a", "b"}}},
	} {
		_, err := Create(testContext(t), m.mesh, m.loop, m.domain, []Plan{plan})
		mustContain(t, err, want)
	}
	_, err := Create(testContext(t), m.mesh, m.loop, m.domain, make([]Plan, MaxGroups+1))
	mustContain(t, err, "allowed are")
	_, err = Create(testContext(t), nil, m.loop, m.domain, nil)
	mustContain(t, err, "nil")
}

// TestBadArgumentsAreToldAtOnce: what makes no sense at one member ends Create at all of them, and names it.
func TestBadArgumentsAreToldAtOnce(t *testing.T) {
	for want, change := range map[string]func(*member, *Plan) (*loop.Loop, *verbs.Domain){
		"the loop or the domain is nil": func(m *member, _ *Plan) (*loop.Loop, *verbs.Domain) { return m.loop, nil },
		"is there twice": func(m *member, p *Plan) (*loop.Loop, *verbs.Domain) {
			p.Ranks = []int{0, 1, 1}
			return m.loop, m.domain
		},
		"group \x1b[31mred: bad argument": func(m *member, p *Plan) (*loop.Loop, *verbs.Domain) {
			p.Name, p.Stall = "\x1b[31mred", 1
			return m.loop, m.domain
		},
	} {
		members, ctx := newMembers(t, 3, room, soft.InProcess), testContext(t)
		for i, err := range concurrently(members, func(i int, m *member) error {
			l, domain, plan := m.loop, m.domain, Plan{Config: m.smallConfig("images")}
			if i == 1 {
				l, domain = change(m, &plan)
			}
			_, err := Create(ctx, m.mesh, l, domain, []Plan{plan})
			return err
		}) {
			if i == 1 {
				mustContain(t, err, want)
				continue
			}
			mustContain(t, err, "member 1 (m1)", strings.ReplaceAll(want, "\x1b", " "))
			if !errors.Is(err, ErrElsewhere) {
				t.Errorf("%v is not ErrElsewhere", err)
			}
		}
		createAndSend(t, members) // nothing is broken
	}
}

// TestAMemberThatDoesNotCreate is named, and the others do not wait for ever.
func TestAMemberThatDoesNotCreate(t *testing.T) {
	members := newMembers(t, 3, room, soft.InProcess)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	for _, err := range concurrently(members[:2], func(i int, m *member) error {
		_, err := Create(ctx, m.mesh, m.loop, m.domain, []Plan{{Config: m.smallConfig("images")}})
		return err
	}) {
		mustContain(t, err, "member 2 (m2)")
		if !slices.Contains(mesh.Failed(err), 2) {
			t.Errorf("Failed(%v) is %v", err, mesh.Failed(err))
		}
	}
}

func TestALoopThatDoesNotRun(t *testing.T) {
	members := newMembers(t, 1, room, soft.InProcess)
	m := members[0]
	queue, err := m.device.NewCompletionQueue(room)
	check(t, err)
	defer queue.Close()
	idle, err := loop.New(loop.Config{Completions: queue})
	check(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = Create(ctx, m.mesh, idle, m.domain, []Plan{{Config: m.smallConfig("images")}})
	mustContain(t, err, "was it started?")
	check(t, idle.Close())
	_, err = Create(testContext(t), m.mesh, idle, m.domain, []Plan{{Config: m.smallConfig("images")}})
	if !errors.Is(err, loop.ErrClosed) {
		t.Error(err)
	}
}

// TestCloseWithoutALoop: groups outlive their loop, and can still be freed.
func TestCloseWithoutALoop(t *testing.T) {
	members := newMembers(t, 2, room, soft.InProcess)
	groups := createAll(t, members, func(_ int, m *member) []Plan { return []Plan{{Config: m.smallConfig("images")}} })
	for _, m := range members {
		check(t, m.loop.Close())
	}
	closeAll(t, members, groups)
	closeAll(t, members, groups)
}

// TestFailuresAreTold once, after Create, and Closed behind them.
func TestFailuresAreTold(t *testing.T) {
	members := newMembers(t, 3, room, soft.InProcess)
	calls := make(chan string, 64)
	groups := createAll(t, members, func(i int, m *member) []Plan {
		config := m.smallConfig("images")
		config.Ready = func() { calls <- fmt.Sprint("ready ", i) }
		config.Failed = func(f *rdmc.Failure) { calls <- fmt.Sprint("failed ", i, " ", f.Rank) }
		config.Closed = func() { calls <- fmt.Sprint("closed ", i) }
		return []Plan{{Config: config}}
	})
	members[1].kill()
	seen := make(map[string]bool)
	ctx := testContext(t)
	for !seen["failed 0 1"] || !seen["failed 2 1"] {
		select {
		case call := <-calls:
			if seen[call] {
				t.Errorf("%s was called twice", call)
			}
			seen[call] = true
		case <-ctx.Done():
			t.Fatalf("heard only %v", seen)
		}
	}
	closeAll(t, members, groups)
	if close(calls); !slices.Contains(drain(calls), "closed 0") {
		t.Error("Closed was not called")
	}
}

// TestCallsComeFirst: Ready has returned when Create has, and Closed when Close has.
func TestCallsComeFirst(t *testing.T) {
	members := newMembers(t, 2, room, soft.InProcess)
	var ready, closed [2]bool // plain memory: the race detector watches the order too
	slowly := func(done *bool) func() {
		return func() { time.Sleep(20 * time.Millisecond); *done = true }
	}
	groups := createAll(t, members, func(i int, m *member) []Plan {
		config := m.smallConfig("images")
		config.Ready, config.Closed = slowly(&ready[i]), slowly(&closed[i])
		return []Plan{{Config: config}}
	})
	if ready != [2]bool{true, true} {
		t.Error("Create returned before Ready did")
	}
	closeAll(t, members, groups)
	if closed != [2]bool{true, true} {
		t.Error("Close returned before Closed did")
	}
}

func drain(calls chan string) (all []string) {
	for call := range calls {
		all = append(all, call)
	}
	return all
}

// TestGiveUpAtAnyMoment: whenever the time is up, nothing hangs and nothing is left.
func TestGiveUpAtAnyMoment(t *testing.T) {
	for seed := range uint64(20) {
		members := newMembers(t, 3, room, soft.InProcess)
		random := rand.New(rand.NewPCG(seed, 3))
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(5000))*time.Microsecond)
		concurrently(members, func(_ int, m *member) error {
			for ctx.Err() == nil {
				groups, err := Create(ctx, m.mesh, m.loop, m.domain, []Plan{{Config: m.smallConfig("images")}})
				if err == nil {
					err = Close(testContext(t), groups)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		cancel()
	}
}
