package soft

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// crowd is many queue pairs of one completion queue, connected to those of another host. All are busy for ever, because
// they wait for an arrival that does not come; all have receives that nobody polls for.
type crowd struct {
	a, b     *host
	here     []*QueuePair
	memories []*Memory
}

func newCrowd(t testing.TB, size int) *crowd {
	c := &crowd{a: newHost(t), b: newHost(t)}
	pool := c.a.shared(maxDepth)
	idle := c.a.pair()
	never := driver.Arrival{Queue: idle.Number(), Count: 1}
	for i := range size {
		q, peer := c.a.pair(func(config *driver.QueueConfig) {
			if i%2 == 0 {
				config.Shared = pool
			}
		}), c.b.pair()
		join(c.a, q, c.b, peer)
		c.here = append(c.here, q)
		c.memories = append(c.memories, c.a.memory(1, 0))
	}
	idle.enlist() // the first turn finds that it has nothing to do
	for i, q := range c.here {
		if i%2 == 1 {
			receive(t, q, driver.Receive{})
		}
		post(t, q, driver.Request{Op: driver.OpWrite}, driver.Request{Op: driver.OpWrite, After: never})
	}
	return c
}

// check fails unless every list holds those that say they stand there, and in their places.
func (c *crowd) check(t *testing.T) {
	t.Helper()
	for i, q := range c.a.cq.busy {
		if q.busy != 1+i {
			t.Fatalf("place %d of the busy queue pairs is taken by one at %d", i, q.busy-1)
		}
	}
	for i, l := range c.a.domain.lives {
		if l.place != i {
			t.Fatalf("place %d of the lives is taken by one at %d", i, l.place)
		}
	}
	for _, q := range c.here {
		if users := q.pool.users; !q.closed.Load() && users[q.user] != q {
			t.Fatalf("place %d of the users of a pool is not taken by who stands there", q.user)
		}
	}
}

// TestClosingKeepsTheListsInOrder closes the members of a crowd in any order. Nobody else may be lost from a list.
func TestClosingKeepsTheListsInOrder(t *testing.T) {
	const size = 40
	c := newCrowd(t, size)
	lives := len(c.a.domain.lives)
	c.a.cq.attend()
	c.check(t)
	for n, i := range rand.Perm(size) {
		ok(t, c.here[i].Close())
		c.check(t)
		busy, open, done := len(c.a.cq.busy), len(c.a.domain.lives), c.a.cq.done.count()
		if left := size - 1 - n; busy != left || open != lives-size+left || done != left {
			t.Fatalf("%d are left: %d are busy, %d have lives, %d have completions", left, busy, open-lives+size, done)
		}
	}
	c.a.silent()
}

// BenchmarkClose closes everything that a host has. What closing one costs must not grow with how many there are.
func BenchmarkClose(b *testing.B) {
	for _, size := range []int{1000, 10_000} {
		b.Run(fmt.Sprint("memory/", size), func(b *testing.B) {
			closeAll(b, size, func(c *crowd, i int) error { return c.memories[i].Close() })
		})
		b.Run(fmt.Sprint("pair/", size), func(b *testing.B) {
			closeAll(b, size, func(c *crowd, i int) error { return c.here[i].Close() })
		})
	}
}

// closeAll measures what one close costs.
func closeAll(b *testing.B, size int, shut func(c *crowd, i int) error) {
	for range b.N {
		b.StopTimer()
		c := newCrowd(b, size)
		b.StartTimer()
		for i := range size {
			ok(b, shut(c, i))
		}
		b.StopTimer()
		c.a.close()
		c.b.close()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/close")
}
