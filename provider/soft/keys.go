package soft

import (
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// A local key is a table index in the low bits and, above it, a generation that tells a new tenant of the index from its
// predecessors. It is never 0, and never all ones: that would be driver.BadKey for the last index.
//
// Generations come round, and with them keys: then a stale span of the program's own names memory that it was not cut
// from. So an index rests when its tenant has left, while minResting others are taken; only a full table cannot wait. A
// key comes back after minResting*maxGeneration registrations at the earliest, more than a million.
const (
	indexBits     = 20
	maxRegions    = 1 << indexBits
	maxGeneration = 1<<(32-indexBits) - 2
	minResting    = 256
)

// keyring finds the registered memory of a domain, in this process or in another.
type keyring interface {
	// find returns the region with a remote key, or nil.
	find(remoteKey uint64) *region
	// local returns the region with a local key, or nil.
	local(key uint32) *region
}

// cover reports whether each span lies inside live memory of the domain, and returns the region of the first. Empty
// spans lie anywhere.
func cover(keys keyring, first driver.Span, more []driver.Span) (r *region, ok bool) {
	if first.Length > 0 {
		if r = keys.local(first.Key); !r.covers(first) {
			return nil, false
		}
	}
	for _, s := range more {
		if s.Length > 0 && !keys.local(s.Key).covers(s) {
			return nil, false
		}
	}
	return r, true
}

// keyTable finds the regions of a domain: by local key without a lock, by remote key with one, which is taken seldom
// because queue pairs remember what they found. Any goroutine may use it.
type keyTable struct {
	tenants atomic.Pointer[[]tenancy] // by index; replaced by a longer copy when full

	locks   *atomic.Uint64 // counts when find takes mu
	mu      sync.Mutex
	random  *rand.ChaCha8
	regions map[uint64]*region // by remote key
	vacant  []uint32           // indexes without a tenant, the one that has been so longest first
}

// tenancy is one index of the table. It is written under mu. Who still reads a table that was replaced may find a
// region that has been removed since, and finds it dead.
type tenancy struct {
	region     atomic.Pointer[region]
	generation uint32 // of the last tenant; guarded by mu
}

// newKeyTable seeds a generator that nobody can predict: a remote key is a capability, and must not be guessed. It
// makes its numbers in batches, so that registering stays cheap.
func newKeyTable(locks *atomic.Uint64) *keyTable {
	var seed [32]byte
	crand.Read(seed[:])
	t := &keyTable{locks: locks, random: rand.NewChaCha8(seed), regions: make(map[uint64]*region)}
	t.tenants.Store(new([]tenancy))
	return t
}

// add gives r its two keys and makes it known.
func (t *keyTable) add(r *region) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	index, err := t.vacancy()
	if err != nil {
		return err
	}
	for r.remoteKey == 0 || isLent(r.remoteKey) || t.regions[r.remoteKey] != nil {
		r.remoteKey = t.random.Uint64()
	}
	home := &(*t.tenants.Load())[index]
	home.generation = home.generation%maxGeneration + 1
	r.localKey = home.generation<<indexBits | index
	t.regions[r.remoteKey] = r
	home.region.Store(r)
	return nil
}

// vacancy takes the first index off the list, after making the table longer if too few rest there.
func (t *keyTable) vacancy() (uint32, error) {
	if len(t.vacant) <= minResting && len(*t.tenants.Load()) < maxRegions {
		t.extend()
	}
	if len(t.vacant) == 0 {
		return 0, fmt.Errorf("soft: domain has %d registered memories already: %w", maxRegions, driver.ErrLimit)
	}
	index := t.vacant[0]
	t.vacant = t.vacant[1:]
	return index, nil
}

// extend replaces the table by one of twice the length. The new indexes go behind those that rest.
func (t *keyTable) extend() {
	old := *t.tenants.Load()
	longer := make([]tenancy, min(max(2*len(old), 2*minResting), maxRegions))
	for i := range old {
		longer[i].region.Store(old[i].region.Load())
		longer[i].generation = old[i].generation
	}
	for i := len(old); i < len(longer); i++ {
		t.vacant = append(t.vacant, uint32(i))
	}
	t.tenants.Store(&longer)
}

// remove forgets r. It must be dead, and everybody who found it alive must have left its gate.
func (t *keyTable) remove(r *region) {
	t.mu.Lock()
	defer t.mu.Unlock()
	index := r.localKey % maxRegions
	delete(t.regions, r.remoteKey)
	(*t.tenants.Load())[index].region.Store(nil)
	t.vacant = append(t.vacant, index)
}

// find returns the region with a remote key, or nil.
func (t *keyTable) find(remoteKey uint64) *region {
	t.locks.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.regions[remoteKey]
}

// some returns at most n regions, of those wanted.
func (t *keyTable) some(n int, want func(*region) bool) (list []*region) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.regions {
		if len(list) == n {
			break
		}
		if want(r) {
			list = append(list, r)
		}
	}
	return list
}

// owns reports whether an address lies in memory of the domain.
func (t *keyTable) owns(at uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.regions {
		if r.contains(at, 1) {
			return true
		}
	}
	return false
}

// local returns the region with a local key, or nil.
func (t *keyTable) local(key uint32) *region {
	tenants := *t.tenants.Load()
	index := key % maxRegions
	if int(index) >= len(tenants) {
		return nil
	}
	if r := tenants[index].region.Load(); r != nil && r.localKey == key {
		return r
	}
	return nil
}
