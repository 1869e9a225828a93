package presence

import (
	"context"
	"net/netip"
	"sync"
)

// lines are an office's connections to the offices of its peers.
type lines struct {
	config Config
	limits limits
	ended  *sync.WaitGroup

	mu     sync.Mutex
	open   map[netip.AddrPort]*line // Invariant: each has a watch
	closed bool
}

func (s *lines) init(config Config, limits limits, ended *sync.WaitGroup) {
	s.config, s.limits, s.ended = config, limits, ended
	s.open = make(map[netip.AddrPort]*line)
}

// watch adds a watch to the line that leads there.
func (s *lines) watch(peer Name, at netip.AddrPort, tell func(Word)) *Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return new(Watch)
	}
	l := s.lineTo(netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
	w := &Watch{line: l, peer: peer, tell: tell}
	l.watches[peer] = append(l.watches[peer], w)
	l.tell(message{subscribe, uint64(peer)}) // also for a name that is watched already: the answer is for this one
	l.nudge()
	return w
}

// lineTo returns the line to an address, and begins one if there is none.
func (s *lines) lineTo(at netip.AddrPort) *line {
	if l := s.open[at]; l != nil {
		return l
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &line{lines: s, at: at, nudged: make(chan struct{}, 1), watches: make(map[Name][]*Watch), stop: stop}
	s.open[at] = l
	s.ended.Go(func() { l.run(ctx) })
	return l
}

// close ends every line, without a word to those who watch.
func (s *lines) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range s.open {
		l.retire()
	}
}
