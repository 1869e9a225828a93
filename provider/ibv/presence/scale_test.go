package presence

import (
	"sync"
	"testing"
)

// Ten thousand watches on four connections; half of the names end, then the offices.
func TestManyWatches(t *testing.T) {
	const offices, each = 4, 2500
	client := openUsual(t)
	var told sync.WaitGroup
	for range offices {
		server := openUsual(t)
		names := make([]Name, each)
		for i := range names {
			names[i] = NewName()
			server.Register(names[i])
			told.Add(1)
			client.Watch(names[i], server.at(), onGone(told.Done))
		}
		until(t, "all watched", func() bool { return server.watchers(names[each-1]) == 1 })
		if n := server.visitors(); n != 1 {
			t.Errorf("%d connections for %d watches", n, each)
		}
		for _, n := range names[:each/2] {
			server.End(n)
		}
		server.Close()
	}
	told.Wait()
}

func TestManyConnections(t *testing.T) {
	many := 1000
	if testing.Short() {
		many = 100
	}
	client := openUsual(t)
	var told sync.WaitGroup
	servers := make([]*Office, many)
	for i := range servers {
		servers[i] = openUsual(t)
		n := NewName()
		servers[i].Register(n)
		told.Add(1)
		client.Watch(n, servers[i].at(), onGone(told.Done))
	}
	for _, s := range servers {
		until(t, "watched", func() bool { return s.visitors() == 1 })
	}
	for _, s := range servers {
		s.Close()
	}
	told.Wait()
}
