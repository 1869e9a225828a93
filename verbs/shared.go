package verbs

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// SharedConfig describes shared receives.
type SharedConfig struct {
	Completions *CompletionQueue // of every queue pair that will use them; required
	Depth       int              // receives posted at a time; 0: 64
	MaxSpans    int              // pieces of a receive; 0: 4, or what the device can
}

// SharedReceives is a pool of receives for several queue pairs (InfiniBand: SRQ). Whichever of them gets a message
// takes the next one. It belongs to the goroutine that owns its completion queue.
type SharedReceives struct {
	domain *Domain
	queue  *CompletionQueue
	driver driver.SharedReceives
	config SharedConfig

	slot       uint32
	generation uint16
	users      int // open queue pairs
	isClosed   bool
	inStaged   bool

	records []poolRecord // the index is the token's sequence
	vacant  []uint32     // indexes that are free
	staged  []Receive
	pieces  []Span
}

// poolRecord is what is remembered of one receive.
type poolRecord struct {
	tag      Tag
	isPosted bool // or staged
}

// NewSharedReceives makes a pool. It reserves Depth completions in its completion queue, and fails with ErrNotSupported
// if the device has none, otherwise as NewQueuePair does.
func (d *Domain) NewSharedReceives(config SharedConfig) (*SharedReceives, error) {
	own, ok := d.driver.(driver.SharedReceiver)
	if !ok {
		return nil, fail(d, ErrNotSupported, "new shared receives")
	}
	if err := config.validate(d); err != nil {
		return nil, err
	}
	s := &SharedReceives{domain: d, queue: config.Completions, config: config}
	var err error
	if s.slot, s.generation, err = s.queue.enrol(member{pool: s}, config.Depth); err != nil {
		return nil, fmt.Errorf("new shared receives: %w", err)
	}
	err = d.adopt(&d.pools, "new shared receives", func() (err error) {
		s.driver, err = own.NewSharedReceives(driver.SharedConfig{Depth: config.Depth, MaxSpans: config.MaxSpans,
			Completions: config.Completions.driver})
		return err
	})
	if err != nil {
		s.queue.dismiss(s.slot, config.Depth)
		return nil, err
	}
	return s, nil
}

func (c *SharedConfig) validate(d *Domain) error {
	limits := &d.device.limits
	if c.Completions == nil {
		return fail(d, ErrArgument, "new shared receives: SharedConfig.Completions is nil")
	}
	if c.Completions.device != d.device {
		return fail(d, ErrForeign, "new shared receives: the completion queue")
	}
	if c.Depth == 0 {
		c.Depth = 64
	}
	if c.MaxSpans == 0 {
		c.MaxSpans = min(4, limits.MaxSpans)
	}
	if c.Depth < 1 || c.Depth > limits.MaxDepth || c.MaxSpans < 1 || c.MaxSpans > limits.MaxSpans {
		return fail(d, ErrLimit, "new shared receives: depth %d of at most %d, %d spans of at most %d", c.Depth,
			limits.MaxDepth, c.MaxSpans, limits.MaxSpans)
	}
	return nil
}

func (s *SharedReceives) String() string {
	return fmt.Sprintf("shared receives of depth %d", s.config.Depth)
}

// Room is how many more receives can be staged.
func (s *SharedReceives) Room() int { return s.config.Depth - len(s.records) + len(s.vacant) }

// Receive makes into ready for one message to any of the queue pairs. The completion's Queue says which it was.
func (s *SharedReceives) Receive(tag Tag, into Span) error {
	return s.StageReceive(&Receive{Tag: tag, Span: into})
}

// StageReceive stages a receive given in full. It fails with ErrQueueFull, ErrBounds, ErrLimit or ErrClosed.
func (s *SharedReceives) StageReceive(r *Receive) error {
	if r == nil || s.isClosed || s.Room() == 0 {
		return s.refuse(r)
	}
	if r.Span.Key == driver.BadKey || len(r.More) > 0 {
		if err := checkReceive(s, r, s.config.MaxSpans); err != nil {
			return err
		}
	}
	if len(s.vacant) == 0 {
		s.grow()
	}
	last := len(s.vacant) - 1
	i := s.vacant[last]
	s.vacant = s.vacant[:last]
	s.records[i] = poolRecord{r.Tag, true}
	staged := next(&s.staged)
	staged.Tag, staged.Span = makeToken(kindReceive, s.slot, s.generation, i), r.Span
	if len(r.More) > 0 || staged.More != nil {
		s.pieces, staged.More = keepPieces(s.pieces, r.More)
	}
	s.staged = s.staged[:len(s.staged)+1]
	if !s.inStaged {
		s.inStaged = true
		s.queue.staged = append(s.queue.staged, s)
	}
	return nil
}

// refuse says why nothing can be staged now.
func (s *SharedReceives) refuse(r *Receive) error {
	switch {
	case r == nil:
		return fail(s, ErrArgument, "receive: it is nil")
	case s.isClosed:
		return fail(s, ErrClosed, "receive")
	}
	return fail(s, ErrQueueFull, "receive: %d are posted", s.config.Depth)
}

// grow makes room for one more record.
func (s *SharedReceives) grow() {
	s.vacant = append(s.vacant, uint32(len(s.records)))
	s.records = append(s.records, poolRecord{})
}

// Flush hands what is staged to the NIC. It fails as QueuePair.Flush does.
func (s *SharedReceives) Flush() error {
	s.inStaged = false
	if len(s.staged) == 0 {
		return nil
	}
	n, err := s.driver.PostReceive(s.staged)
	if err != nil {
		for _, refused := range s.staged[n:] {
			s.release(token(refused.Tag).sequence())
		}
		err = notPosted(s, "receives", len(s.staged)-n, len(s.staged), err)
	}
	s.staged, s.pieces = s.staged[:0], s.pieces[:0]
	return err
}

func (s *SharedReceives) settle(i uint32, w *Completion) bool {
	if int(i) >= len(s.records) || !s.records[i].isPosted {
		s.notPosted(i, w)
		return true
	}
	w.Tag = s.records[i].tag
	s.release(i)
	return true
}

func (s *SharedReceives) notPosted(i uint32, w *Completion) {
	s.queue.breaks(fail(s, ErrProvider, "completed receive %d, which is not posted (%v, %v)", i, w.Op, w.Status))
}

func (s *SharedReceives) release(i uint32) {
	s.records[i].isPosted = false
	s.vacant = append(s.vacant, i)
}

// Close frees the pool and drops what is posted. It fails with ErrInUse while queue pairs use it. A second Close does
// nothing.
func (s *SharedReceives) Close() error {
	if s.isClosed {
		return nil
	}
	if s.users > 0 {
		return fail(s, ErrInUse, "close: %d queue pairs take from it", s.users)
	}
	s.isClosed = true
	s.staged = nil
	s.queue.dismiss(s.slot, s.config.Depth)
	defer s.domain.released(&s.domain.pools)
	return s.driver.Close()
}
