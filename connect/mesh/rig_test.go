package mesh

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience bounds what should end by itself: a hang fails, a slow machine does not.
const patience = time.Minute

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// sockets are addresses of so many members.
func sockets(t testing.TB, n int) []string {
	t.Helper()
	dir := t.TempDir()
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = "unix:" + filepath.Join(dir, fmt.Sprint(i))
	}
	return addresses
}

// concurrently does something for each of n members at once, and returns the errors.
func concurrently(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var runs sync.WaitGroup
	for i := range n {
		runs.Add(1)
		go func() {
			defer runs.Done()
			errs[i] = do(i)
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

// joinAll makes a mesh of n members in this process.
func joinAll(t testing.TB, n int, change func(*Config)) []*Mesh {
	t.Helper()
	ctx, addresses, meshes := testContext(t), sockets(t, n), make([]*Mesh, n)
	mustAll(t, concurrently(n, func(i int) (err error) {
		config := Config{Self: i, Members: addresses}
		if change != nil {
			change(&config)
		}
		meshes[i], err = Join(ctx, config)
		return err
	}))
	t.Cleanup(func() {
		concurrently(n, func(i int) error { return meshes[i].Close() })
	})
	return meshes
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
}

// briefly does what ends only when its time is up, with little of it. If it does not end as it should, the machine may have
// been too busy for that, and it is done again with more. What each member's error must say is for it to judge; the test
// looks at what came last.
func briefly(t *testing.T, do func(ctx context.Context) []error, want ...[]string) []error {
	t.Helper()
	for within := 300 * time.Millisecond; ; within *= 3 {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		errs := do(ctx)
		cancel()
		if within > patience/3 || allSay(errs, want) {
			return errs
		}
	}
}

func allSay(errs []error, want [][]string) bool {
	for i, parts := range want {
		for _, part := range parts {
			if errs[i] == nil || !strings.Contains(errs[i].Error(), part) {
				return false
			}
		}
	}
	return true
}

// brief is a context for what cannot end well.
func brief(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func dial(t testing.TB, address string) *connect.Session {
	t.Helper()
	s, err := connect.Dial(testContext(t), address, connect.Options{Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
