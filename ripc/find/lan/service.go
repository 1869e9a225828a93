package lan

import (
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// state is how far a service of ours is:
//
//	probing ──silence for a lease──▶ held ──more than ¾ of a lease not renewed──▶ doubtful
//	   │                              │ ▲                                           │  │
//	somebody objects           superseded └────────silence for a lease───────────────┘  superseded
//	   ▼                              ▼                                                 ▼
//	 ended                          ended                                             ended
type state uint8

const (
	probing  state = iota // asking whether somebody has it
	held                  // announced, and valid while it is renewed in time
	doubtful              // held, but asking again
)

// service is one that this process has, or is about to have.
type service struct {
	record  find.Record
	state   state
	until   clock.Time // of probing and doubtful: when the silence will have been long enough
	next    clock.Time // of probing and doubtful: when to ask again
	pause   time.Duration
	hold    *find.Hold
	settled chan struct{} // closed when probing has ended: held, or not
}

const (
	firstPause = 20 * time.Millisecond // between two questions; each is twice the one before, up to
	lastPause  = 160 * time.Millisecond
)

// trust is for how long after an announcement a holder is sure of a service. Others wait for the whole lease. The quarter
// between is for what they heard later than it was said.
func (m *machine) trust() time.Duration { return m.lease * 3 / 4 }

// claim begins to claim a service that is not ours. By the wall clock its epoch is higher than those of earlier holders that
// were not heard.
func (m *machine) claim(now clock.Time, wall int64, r find.Record) *service {
	r.Epoch = max(r.Epoch, uint64(max(wall, 1)))
	if h, known := m.others[r.Key()]; known {
		r.Epoch = max(r.Epoch, h.record.Epoch+1)
	}
	s := &service{record: r, hold: find.NewHold(r, 0), settled: make(chan struct{})}
	m.mine[r.Key()] = s
	m.question(now, s)
	return s
}

// question starts a lease's time of asking: that of this resolver, or of who was heard last, if that ends later. What is nobody
// else's needs none: to be a member of a group, and an ID that was drawn, unless somebody was heard to have it.
func (m *machine) question(now clock.Time, s *service) {
	s.until, s.next, s.pause = now.Add(m.lease), now, firstPause
	h, known := m.others[s.record.Key()]
	switch {
	case known:
		s.until = max(s.until, h.until)
	case s.record.Service.Kind() != wire.Named:
		s.until = now
	}
}

// changeMine makes a record of ours say what r says. Its epoch never falls.
func (m *machine) changeMine(s *service, r find.Record) {
	r.Epoch = max(r.Epoch, s.record.Epoch)
	s.record = r
	s.hold.Renew(r, 0)
	if s.state != probing {
		m.send(everybody, tell, r)
		m.change(find.Moved, r)
	}
}

func (m *machine) becomeDoubtful(now clock.Time, s *service) {
	s.state = doubtful
	m.question(now, s)
}

func (m *machine) becomeHeld(now clock.Time, s *service) {
	first := s.state == probing
	s.state = held
	s.hold.Renew(s.record, now.Add(m.trust()))
	m.send(everybody, tell, s.record)
	if first {
		delete(m.others, s.record.Key())
		m.change(find.Came, s.record)
		close(s.settled) // who waits for it finds it valid
	}
}

// end ends a claim, and says why.
func (m *machine) end(s *service, why error) {
	if m.mine[s.record.Key()] == s {
		delete(m.mine, s.record.Key())
	}
	s.hold.End(why)
	if s.state == probing {
		close(s.settled)
	}
}

// withdraw ends a claim and lets the others know, if it was more than an attempt.
func (m *machine) withdraw(s *service, why error) {
	if s.hold.Err() != nil {
		return
	}
	m.end(s, why)
	if s.state != probing {
		m.send(everybody, gone, s.record)
		m.change(find.Gone, s.record)
	}
}

// tickService asks what is to be asked, and returns when to ask again.
func (m *machine) tickService(now clock.Time, s *service) (next clock.Time) {
	if s.state == held {
		if now < s.hold.ValidUntil() {
			return clock.Never
		}
		m.becomeDoubtful(now, s)
	}
	if now > min(s.next, s.until).Add(m.lease/4) {
		m.question(now, s) // who did not ask did not hear silence: this process was stopped, or starved
	}
	if now >= s.until {
		m.becomeHeld(now, s)
		return clock.Never
	}
	if now >= s.next {
		m.send(everybody, probe, s.record)
		s.next = now.Add(s.pause)
		s.pause = min(2*s.pause, lastPause)
	}
	return min(s.next, s.until)
}

// renew announces all that is held, three times in a lease, and returns when it will next.
func (m *machine) renew(now clock.Time) (next clock.Time) {
	var all []find.Record
	due := now >= m.renewed.Add(m.lease/3)
	for _, s := range m.mine {
		if s.state != held {
			continue
		}
		all = append(all, s.record)
		if due {
			s.hold.Renew(s.record, now.Add(m.trust()))
		}
	}
	if due {
		m.send(everybody, tell, all...)
		m.renewed = now
	}
	if len(all) == 0 {
		return clock.Never
	}
	return m.renewed.Add(m.lease / 3)
}

// bucket limits how often something is done: so often at once, and once in a while.
type bucket struct {
	used float64
	last clock.Time
}

// What a resolver answers at most: as many at once as asking for all services of a busy host may need, and a thousand a second.
const (
	bucketSize = 256
	perSecond  = 1000
)

func (b *bucket) take(now clock.Time) bool {
	b.used = max(0, b.used-now.Sub(b.last).Seconds()*perSecond)
	b.last = now
	if b.used+1 > bucketSize {
		return false
	}
	b.used++
	return true
}
