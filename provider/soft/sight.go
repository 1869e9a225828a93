package soft

import (
	"sync/atomic"
)

// sight is the arena of another device, mapped here. Views of lives hold it.
type sight struct {
	bytes []byte
}

// newSight maps the arena behind a descriptor, and closes that.
func newSight(rs *resources, fd int) (*sight, error) {
	defer closeDescriptor(fd)
	if err := checkFile(fd, arenaSize); err != nil {
		return nil, err
	}
	b, err := mapShared(fd, 0, arenaSize)
	if err != nil {
		return nil, err
	}
	s := &sight{b}
	hold(rs, s, b, -1)
	return s, nil
}

// seer looks at several things in an arena, and remembers what went wrong first.
type seer struct {
	arena []byte
	err   error
}

func seeOnly[T any](s *seer, at uint64) *T {
	t, err := seeOne[T](s.arena, ref(at))
	if err != nil {
		t = new(T)
		if s.err == nil {
			s.err = err
		}
	}
	return t
}

func seeAll[T any](s *seer, at, n uint64) []T {
	list, err := seeMany[T](s.arena, ref(at), n)
	if err != nil && s.err == nil {
		s.err = err
	}
	return list
}

// alignedWord is one leaf of a readySet, which has a cache line for itself.
type alignedWord struct {
	atomic.Uint64
	_ [56]byte
}
