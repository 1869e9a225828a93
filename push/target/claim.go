package target

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxTops is how many names a summary has at most: with so many there may be more.
const maxTops = 1000

// claim is what a push writes, so that no other does meanwhile.
type claim struct {
	InUse
	paths []string // what it writes, and all below
}

// claimed says which paths a push to a place writes: two pushes of different names to one directory do not disturb each other.
func claimed(o *Order, p *place) []string {
	tops := o.Manifest.Tops
	if p.name != "" || len(tops) == 0 || len(tops) >= maxTops {
		return []string{p.path}
	}
	paths := make([]string, len(tops))
	for i, top := range tops {
		paths[i] = filepath.Join(p.path, top)
	}
	return paths
}

// claim keeps others out.
func (r *Root) claim(o *Order, p *place) (*claim, error) {
	c := &claim{InUse{o.ID, o.Owner, o.Dest, time.Now()}, claimed(o, p)}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := r.free(c); err != nil {
		return nil, err
	}
	r.claims[c] = struct{}{}
	return c, nil
}

// free checks that nobody is there. Callers hold the mutex.
func (r *Root) free(c *claim) error {
	for other := range r.claims {
		if c.overlaps(other) {
			return inUse(c.Dest, &other.InUse)
		}
	}
	return nil
}

func inUse(dest string, other *InUse) error {
	return fmt.Errorf("destination %q: %w: push %s of %s to %q since %s", dest, ErrInUse, other.ID, other.Owner, other.Dest,
		other.Since.UTC().Format(time.RFC3339))
}

func (r *Root) release(c *claim) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.claims, c)
}

func (c *claim) overlaps(other *claim) bool {
	return slices.ContainsFunc(c.paths, func(path string) bool {
		return slices.ContainsFunc(other.paths, func(taken string) bool { return within(path, taken) || within(taken, path) })
	})
}

// within reports whether a path is a directory, or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Pushes are the pushes under way, the oldest first.
func (r *Root) Pushes() []InUse {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	list := make([]InUse, 0, len(r.claims))
	for c := range r.claims {
		list = append(list, c.InUse)
	}
	slices.SortFunc(list, func(a, b InUse) int { return a.Since.Compare(b.Since) })
	return list
}
