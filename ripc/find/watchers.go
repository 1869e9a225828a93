package find

import "sync"

// Watchers are those who want to hear of changes. It is for those who write resolvers. The zero value has none.
type Watchers struct {
	mu   sync.Mutex
	list []func(Change)
}

// Watch adds one.
func (w *Watchers) Watch(f func(Change)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, f)
}

// Tell tells all of them, one change at a time.
func (w *Watchers) Tell(changes ...Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, change := range changes {
		for _, f := range w.list {
			f(change)
		}
	}
}
