package muster

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// TestMain lets more tests run at once than there are cores: most of what runs in parallel here sleeps.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}

// hang bounds what should end by itself: a hang fails, a slow machine does not.
const hang = time.Minute

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	return ctx
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// member is one member of a mesh, with a device and a loop of its own.
type member struct {
	mesh   *mesh.Mesh
	nic    *soft.Device
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
	memory *verbs.Memory
	killed bool
}

// kill has the member's device die, and its loop with it.
func (m *member) kill() {
	m.killed = true
	m.nic.Kill()
}

// memorySize is what each member has for messages.
const memorySize = 1 << 20

// patient is for tests in which a slow machine is not a dead one.
const patient = 10 * time.Second

// newMembers makes n members in this process, with room for so many completions each.
func newMembers(t testing.TB, n, room int, lanes soft.Lanes) []*member {
	t.Helper()
	return newMembersOn(t, n, func(int) *member { return openMember(t, room, soft.Config{Lanes: lanes, PeerTimeout: patient}, nil) })
}

// newMembersOn makes members on whatever devices.
func newMembersOn(t testing.TB, n int, open func(i int) *member) []*member {
	t.Helper()
	ctx, dir := testContext(t), t.TempDir()
	config := mesh.Config{}
	for i := range n {
		config.Members = append(config.Members, "unix:"+filepath.Join(dir, fmt.Sprint(i)))
		config.Names = append(config.Names, fmt.Sprintf("m%d", i))
	}
	members := make([]*member, n)
	for i := range members {
		members[i] = open(i)
	}
	mustAll(t, concurrently(members, func(i int, m *member) (err error) {
		config := config
		config.Self = i
		m.mesh, err = mesh.Join(ctx, config)
		return err
	}))
	t.Cleanup(func() { concurrently(members, func(_ int, m *member) error { return m.mesh.Close() }) })
	return members
}

// openMember opens a member's device, which something may be wrapped around.
func openMember(t testing.TB, room int, config soft.Config, wrap func(driver.Device) driver.Device) *member {
	t.Helper()
	m := &member{}
	var err error
	m.nic, err = soft.New(config)
	check(t, err)
	var nic driver.Device = m.nic
	if wrap != nil {
		nic = wrap(nic)
	}
	m.device, err = verbs.Open(nic)
	check(t, err)
	m.domain, err = m.device.NewDomain()
	check(t, err)
	m.queue, err = m.device.NewCompletionQueue(room)
	check(t, err)
	m.memory, err = m.domain.Alloc(memorySize, 0)
	check(t, err)
	m.loop, err = loop.New(loop.Config{Completions: m.queue, Waiting: loop.Sleeping()})
	check(t, err)
	check(t, m.loop.Start())
	t.Cleanup(func() {
		for _, close := range []func() error{m.loop.Close, m.memory.Close, m.queue.Close, m.domain.Close, m.device.Close} {
			if err := close(); err != nil && !m.killed {
				t.Error(err)
			}
		}
	})
	return m
}

// concurrently does something for each member at once, and returns the errors.
func concurrently(members []*member, do func(i int, m *member) error) []error {
	errs := make([]error, len(members))
	var runs sync.WaitGroup
	for i, m := range members {
		runs.Add(1)
		go func() {
			defer runs.Done()
			errs[i] = do(i, m)
		}()
	}
	runs.Wait()
	return errs
}

func mustAll(t testing.TB, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Errorf("member %d: %v", i, err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func mustContain(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q has more than one line", err)
	}
}

// smallConfig is a group of little memory.
func (m *member) smallConfig(name string) rdmc.Config {
	return rdmc.Config{Name: name, BlockSize: 1 << 10, Arrivals: 1,
		Incoming: func(rdmc.Message) rdmc.Place { return rdmc.Place{Memory: m.memory} }}
}

// createAll makes the same groups at all members.
func createAll(t testing.TB, members []*member, plans func(i int, m *member) []Plan) [][]*Group {
	t.Helper()
	ctx, groups := testContext(t), make([][]*Group, len(members))
	mustAll(t, concurrently(members, func(i int, m *member) (err error) {
		groups[i], err = Create(ctx, m.mesh, m.loop, m.domain, plans(i, m))
		return err
	}))
	return groups
}

func closeAll(t testing.TB, members []*member, groups [][]*Group) {
	t.Helper()
	ctx := testContext(t)
	mustAll(t, concurrently(members, func(i int, _ *member) error { return Close(ctx, groups[i]) }))
}
