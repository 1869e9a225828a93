package member

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// Member is one end of the groups of a push, which follow each other. Its methods may be called by several goroutines: End ends a Connect
// that is under way.
type Member struct {
	config    Config
	domain    *verbs.Domain
	memory    *verbs.Memory
	turn      sync.Mutex     // of those who make and end groups
	lingering sync.WaitGroup // ends of groups whose last words are under way

	mu      sync.Mutex
	session *session // the present or last group
	active  bool     // it was not ended
	total   Stats    // of groups that were ended; Hops of the last
	seen    Stats    // what was known last, while there is a group: its Hops, or none
}

// Open makes a Member with its memory.
func Open(c Config) (*Member, error) {
	if c.Device == nil || c.Memory < 1 {
		return nil, fmt.Errorf("open a member: a device and memory are needed: %w", ErrArgument)
	}
	m := &Member{config: c}
	var err error
	if m.domain, err = c.Device.NewDomain(); err != nil {
		return nil, fmt.Errorf("open a member: %w", err)
	}
	if m.memory, err = m.domain.Alloc(c.Memory, 0); err != nil {
		return nil, fmt.Errorf("open a member: %d bytes for blocks: %w", c.Memory, errors.Join(err, m.domain.Close()))
	}
	return m, nil
}

// Form makes this member's end of a group, and says what the others need to know of it. The former group must have been ended.
func (m *Member) Form(g Group) (control.Formed, error) {
	m.turn.Lock()
	defer m.turn.Unlock()
	if _, err := m.present("form"); err == nil {
		return control.Formed{}, fmt.Errorf("form a group: the one before was not ended: %w", ErrState)
	}
	s, err := m.newSession(g)
	if err != nil {
		return control.Formed{}, fmt.Errorf("form a group: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session, m.active, m.seen = s, true, m.total
	m.seen.Hops = nil // they would be taken for those of this group
	return s.offer, nil
}

// present is the group that was formed and not ended.
func (m *Member) present(what string) (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.active {
		return nil, fmt.Errorf("%s: there is no group: %w", what, ErrState)
	}
	return m.session, nil
}

// Connect connects with the peers, by what they have said when they formed their ends, and returns when it is done. An error that wraps an
// rdmc error is that of a group that has failed; it is told as an event too.
func (m *Member) Connect(ctx context.Context, addresses control.Addresses) error {
	s, err := m.present("connect")
	if err != nil {
		return err
	}
	if err := s.connect(ctx, addresses); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

// Begin has the group do its work, and returns when it can. All members must be connected.
func (m *Member) Begin(ctx context.Context) error {
	s, err := m.present("begin")
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

// Send begins to send a stream, at the root, the first one first. It ends as an event.
func (m *Member) Send(ctx context.Context, stream int) error {
	return m.onLoop(ctx, "send", func(s *session) error { return s.send(stream) })
}

func (m *Member) onLoop(ctx context.Context, what string, f func(*session) error) error {
	s, err := m.present(what)
	if err != nil {
		return err
	}
	if err := s.do(ctx, func() error { return f(s) }); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// End leaves the group, if there is one. What has arrived and fits is kept when it returns, unless the context ends before: then only what
// was begun is. Members that still need this one hear that it has left.
func (m *Member) End(ctx context.Context) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	s, err := m.present("end")
	if err != nil {
		return nil
	}
	last := m.Stats()
	err = s.end(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active, m.total = false, last
	m.lingering.Add(1)
	go m.runLinger(s)
	if err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}

// runLinger frees what is left of a group. It ends by itself, in some seconds at most, and Close waits for it.
func (m *Member) runLinger(s *session) {
	defer m.lingering.Done()
	if err := s.linger(); err != nil && m.config.Log != nil {
		m.config.Log.Warn("the end of a group", "epoch", s.Epoch, "error", err)
	}
}

// Have is what is verified and kept of a stream of the present or last group, what its plan says included.
func (m *Member) Have(stream int) schedule.Set {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session == nil || stream < 0 || stream >= len(m.session.Streams) {
		return schedule.Set{}
	}
	return m.session.crew.have(stream)
}

// patience bounds how long Stats waits for a loop.
const patience = time.Second

// Stats is what the member did until now; or until it was asked last, if its loop does not answer.
func (m *Member) Stats() Stats {
	m.mu.Lock()
	s, active, total := m.session, m.active, m.total
	m.mu.Unlock()
	if !active {
		return total
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var now Stats
	if err := s.do(ctx, func() error { now = s.stats().after(total); return nil }); err != nil {
		return m.known()
	}
	m.note(s, now)
	return now
}

// known is what Stats has found out last.
func (m *Member) known() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// note keeps what a group has done, unless there is another one by now.
func (m *Member) note(s *session, now Stats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session == s {
		m.seen = now
	}
}

// after adds what was done before.
func (s Stats) after(total Stats) Stats {
	s.Received += total.Received
	s.Sent += total.Sent
	s.Full += total.Full
	return s
}

// Close ends the group, if there is one, and frees everything.
func (m *Member) Close() error {
	err := m.End(context.Background())
	m.lingering.Wait()
	return errors.Join(err, m.memory.Close(), m.domain.Close())
}
