package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/pause"
)

// strangers is how many clients may be saying who they are at a time, beside the members.
const strangers = 64

// again is how long to wait before a member that could not be reached is dialled again.
const again = 100 * time.Millisecond

// meeting is a Join under way: one goroutine for each member that is dialled, one that accepts, and one for each client that
// has not said yet who it is.
type meeting struct {
	Config
	names  []string
	mine   hello
	within time.Duration
	ctx    context.Context // ends when all are here, when one cannot come, and with the caller's
	cancel context.CancelCauseFunc
	slots  chan struct{} // one for each client
	runs   sync.WaitGroup

	telling  sync.Mutex // one OnRefused at a time
	mutex    sync.Mutex
	sessions []*connect.Session // by index
	missing  int                // how many sessions are nil, but for our own
	why      []error            // what kept a member from coming, so far
	turned   error              // the last client that was turned away
}

// errAll ends a meeting that went well.
var errAll = errors.New("all are here")

// meet returns a session with each member. With an error it returns those that there are.
func meet(ctx context.Context, config Config) ([]*connect.Session, error) {
	n := len(config.Members)
	m := &meeting{
		Config: config, names: config.names(), within: within(ctx),
		mine:  hello{member: config.Self, members: n, name: config.Name},
		slots: make(chan struct{}, n+strangers), sessions: make([]*connect.Session, n), missing: n - 1, why: make([]error, n),
	}
	if m.missing == 0 {
		return m.sessions, nil
	}
	if m.Options.Timeout == 0 {
		m.Options.Timeout = connect.DefaultTimeout
	}
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	defer m.cancel(nil)
	if m.Listener != nil {
		return m.sessions, m.gather()
	}
	listener, err := m.listen()
	if err != nil {
		return nil, err
	}
	m.Listener = listener
	return m.sessions, errors.Join(m.gather(), listener.Close())
}

func (m *meeting) listen() (*connect.Listener, error) {
	options := m.Options
	options.OnRefused = m.refused
	listener, err := connect.Listen(m.ctx, m.Members[m.Self], options)
	if err != nil {
		return nil, fmt.Errorf("mesh: join as member %d: %w", m.Self, err)
	}
	return listener, nil
}

// gather waits for all members, and for all goroutines.
func (m *meeting) gather() error {
	m.runs.Add(1 + m.Self)
	go m.runAccept()
	for member := range m.Self {
		go m.runDial(member)
	}
	<-m.ctx.Done()
	m.runs.Wait()
	if m.missing == 0 {
		return nil
	}
	if cause := context.Cause(m.ctx); m.ctx.Err() != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return m.stopped(cause)
	}
	return m.absent(fmt.Errorf("%w within %v", ErrAbsent, m.within))
}

// stopped is the error of a meeting that ended before its time.
func (m *meeting) stopped(cause error) error {
	if errors.Is(cause, context.Canceled) {
		return m.absent(fmt.Errorf("%w before this was given up: %w", ErrAbsent, cause))
	}
	return cause
}

// absent names all who did not come.
func (m *meeting) absent(err error) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	errs := make([]error, len(m.sessions))
	for i, s := range m.sessions {
		if s != nil || i == m.Self {
			continue
		}
		errs[i] = err
		if m.why[i] != nil {
			errs[i] = fmt.Errorf("%w: %w", err, m.why[i])
		}
	}
	err = gather("join", m.names, errs)
	if m.turned != nil {
		err = fmt.Errorf("%w; somebody was turned away: %w", err, m.turned)
	}
	return err
}

// runAccept takes clients in. It ends with the meeting, whose gather waits for it.
func (m *meeting) runAccept() {
	defer m.runs.Done()
	for {
		select {
		case m.slots <- struct{}{}:
		case <-m.ctx.Done():
			return
		}
		s, err := m.Listener.Accept(m.ctx)
		if err != nil {
			m.cancel(fmt.Errorf("mesh: join as member %d: %w", m.Self, err))
			return
		}
		m.runs.Add(1)
		go m.runAdmit(s)
	}
}

// runAdmit hears who a client is, and turns it away if it does not belong here. It ends with the meeting, whose gather waits
// for it, or after Options.Timeout, and a second for the farewell.
func (m *meeting) runAdmit(s *connect.Session) {
	defer m.runs.Done()
	defer func() { <-m.slots }()
	ctx, cancel := context.WithTimeout(m.ctx, m.Options.Timeout)
	defer cancel()
	member, err := m.mine.introduce(ctx, s)
	if err == nil && member < m.Self {
		err = fmt.Errorf("%w: member %d should wait for member %d, and not dial it", errMismatch, member, m.Self)
	}
	if err == nil {
		err = m.admit(member, s)
	}
	if err != nil {
		m.refused(fmt.Errorf("%v: %w", s.Peer(), err))
		_ = s.CloseWith(err)
	}
}

// admit gives a member its place.
func (m *meeting) admit(member int, s *connect.Session) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.sessions[member] != nil {
		return fmt.Errorf("%w: there is a member %d already", errMismatch, member)
	}
	m.sessions[member] = s
	if m.missing--; m.missing == 0 {
		m.cancel(errAll)
	}
	return nil
}

func (m *meeting) refused(err error) {
	if m.ctx.Err() != nil {
		return // it was not the client's fault
	}
	m.mutex.Lock()
	m.turned = err
	m.mutex.Unlock()
	if m.Options.OnRefused != nil {
		m.telling.Lock()
		defer m.telling.Unlock()
		m.Options.OnRefused(err)
	}
}

// runDial meets a member with a smaller index. It ends when that is here, or with the meeting, whose gather waits for it.
func (m *meeting) runDial(member int) {
	defer m.runs.Done()
	for {
		err := m.dial(member)
		switch {
		case err == nil:
			return
		case hopeless(err):
			m.cancel(gather("join", m.names, m.only(member, err)))
			return
		case m.ctx.Err() == nil && !errors.Is(err, connect.ErrSilent):
			m.note(member, cause(err))
		}
		if pause.For(m.ctx, again) != nil {
			return
		}
	}
}

func (m *meeting) dial(member int) error {
	options := m.Options
	options.Wait = true
	s, err := connect.Dial(m.ctx, m.Members[member], options)
	if err != nil {
		return err
	}
	claim, err := m.mine.introduce(m.ctx, s)
	if err == nil && claim != member {
		err = fmt.Errorf("%w: the peer says that it is member %d; do all members have the same list?", errMismatch, claim)
	}
	if err == nil {
		err = m.admit(member, s)
	}
	if err != nil {
		_ = s.CloseWith(err)
	}
	return err
}

// hopeless reports whether trying again leads nowhere.
func hopeless(err error) bool {
	for _, definite := range []error{errMismatch, connect.ErrArgument, connect.ErrVersion, connect.ErrNoCommonProvider,
		connect.ErrMalformed, connect.ErrOutOfStep, connect.ErrGaveUp} {
		if errors.Is(err, definite) {
			return true
		}
	}
	return false
}

// cause is what the system said, without the address: then members to whom the same happened can be told in one breath.
func cause(err error) error {
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation.Err
	}
	return err
}

// note remembers what kept a member from coming.
func (m *meeting) note(member int, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.why[member] = err
}

func (m *meeting) only(member int, err error) []error {
	errs := make([]error, len(m.sessions))
	errs[member] = err
	return errs
}
