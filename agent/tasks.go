package agent

import (
	"sync"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
)

// tasks are those of the disk that are under way. A disk that hangs says nothing: it is known by the task that does not end.
type tasks struct {
	mu  sync.Mutex
	all map[*task]struct{}
}

// task is one that is under way.
type task struct {
	of    *tasks
	since time.Time // it has begun, or got on
}

func (t *tasks) begin() *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = make(map[*task]struct{})
	}
	k := &task{t, time.Now()}
	t.all[k] = struct{}{}
	return k
}

// goOn notes that a long task has got on.
func (k *task) goOn() {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	k.since = time.Now()
}

func (k *task) end() {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	delete(k.of.all, k)
}

// oldest is for how long the task has been under way that has not got on for longest; 0: there is none.
func (t *tasks) oldest() (longest time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.all {
		longest = max(longest, time.Since(k.since))
	}
	return longest
}

// timed is blocks with a note of what is done with them.
type timed struct {
	member.Blocks
	tasks *tasks
}

// Keep notes how long a block is written.
func (b timed) Keep(l manifest.Layout, block int, wire []byte) error {
	defer b.tasks.begin().end()
	return b.Blocks.Keep(l, block, wire)
}

// Fetch notes how long a block is read.
func (b timed) Fetch(l manifest.Layout, block int, into []byte) error {
	defer b.tasks.begin().end()
	return b.Blocks.Fetch(l, block, into)
}
