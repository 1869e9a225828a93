package soft

import (
	"runtime"
	"sync"
)

// resources is what a device has mapped or opened of its neighbours'. Nothing tells when a goroutine looks at a word, or
// writes to a descriptor, for the last time; so the collector frees what nobody holds any more, and Device.Close, when
// nobody is left who could look, the rest.
type resources struct {
	mu   sync.Mutex
	held map[*resource]struct{}
}

// resource is a mapping or a descriptor. It is freed once.
type resource struct {
	owner *resources
	pages []byte
	fd    int // negative: none
}

// hold has a resource freed when holder is garbage, at the latest when the device is closed.
func hold[T any](rs *resources, holder *T, pages []byte, fd int) *resource {
	r := &resource{owner: rs, pages: pages, fd: fd}
	rs.mu.Lock()
	if rs.held == nil {
		rs.held = make(map[*resource]struct{})
	}
	rs.held[r] = struct{}{}
	rs.mu.Unlock()
	runtime.AddCleanup(holder, (*resource).free, r)
	return r
}

func (r *resource) free() {
	r.owner.mu.Lock()
	_, held := r.owner.held[r]
	delete(r.owner.held, r)
	r.owner.mu.Unlock()
	if held {
		r.release()
	}
}

func (r *resource) release() {
	if r.pages != nil {
		unmap(r.pages)
	}
	closeDescriptor(r.fd)
}

// close frees everything.
func (rs *resources) close() {
	rs.mu.Lock()
	held := rs.held
	rs.held = nil
	rs.mu.Unlock()
	for r := range held {
		r.release()
	}
}
