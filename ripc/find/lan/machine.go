package lan

import (
	"bytes"
	"cmp"
	"net/netip"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// maxHeard is how many services of others are remembered. More are found by asking.
const maxHeard = 1 << 14

// everybody is where multicasts go.
var everybody netip.AddrPort

// outgoing is a packet that is to be sent.
type outgoing struct {
	to netip.AddrPort
	packet
}

// heard is what somebody else said to have.
type heard struct {
	record find.Record
	until  clock.Time // when that is no longer believed
}

// machine is what a resolver knows and does, without sockets and clocks: it is told the time, and what has arrived, and leaves
// what is to be sent in out and what has changed in changes.
type machine struct {
	lease   time.Duration
	mine    map[find.Key]*service
	others  map[find.Key]heard
	renewed clock.Time // when the last announcement was made; it holds for what is held
	answers bucket

	out     []outgoing
	changes []find.Change
}

func newMachine(lease time.Duration) *machine {
	return &machine{lease: lease, mine: map[find.Key]*service{}, others: map[find.Key]heard{}}
}

func (m *machine) send(to netip.AddrPort, k kind, records ...find.Record) {
	for len(records) > 0 {
		n := fitting(records)
		m.out = append(m.out, outgoing{to, packet{kind: k, records: records[:n]}})
		records = records[n:]
	}
}

// fitting is how many of the records go into one datagram: at least one, because no larger one is claimed.
func fitting(records []find.Record) int {
	size := 0
	for i := range records {
		size += 2 + len(records[i].Append(nil))
		if i > 0 && size > 2+maxRecord || i == 255 {
			return i
		}
	}
	return len(records)
}

// compare orders records of one service: the one that holds is the greater.
func compare(a, b *find.Record) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), bytes.Compare(a.Node[:], b.Node[:]))
}

// take is told what has arrived.
func (m *machine) take(now clock.Time, from netip.AddrPort, p *packet) {
	if p.kind == ask {
		m.takeAsk(now, from, p.id)
		return
	}
	for i := range p.records {
		r := &p.records[i]
		s := m.mine[r.Key()]
		if s != nil && s.record.Node == r.Node {
			continue // it would have to be ours
		}
		switch p.kind {
		case probe:
			m.takeProbe(now, from, s, r)
		case tell:
			m.takeTell(now, s, r, now.Add(p.lease))
		case gone:
			m.takeGone(r)
		}
	}
}

// takeAsk answers who asks for a service that is held here.
func (m *machine) takeAsk(now clock.Time, from netip.AddrPort, id wire.ID) {
	var answer []find.Record
	for _, s := range m.mine {
		if s.state != probing && (id == wire.ID{} || id == s.record.Service) {
			answer = append(answer, s.record)
		}
	}
	if len(answer) > 0 && m.answers.take(now) {
		m.send(from, tell, answer...)
	}
}

// takeProbe defends what is held here, and settles who goes on if two are about to have a service: the lower one, which in
// most cases was first. The higher would never come to an end while more of them arrive.
func (m *machine) takeProbe(now clock.Time, from netip.AddrPort, s *service, r *find.Record) {
	switch {
	case s == nil:
	case s.state == probing && compare(r, &s.record) < 0:
		m.end(s, &find.TakenError{By: *r})
	case !m.answers.take(now):
	case s.state == probing:
		m.send(from, probe, s.record)
	default:
		m.send(from, tell, s.record)
	}
}

// takeTell learns who has a service. If it is one of ours, the higher record holds.
func (m *machine) takeTell(now clock.Time, s *service, r *find.Record, until clock.Time) {
	switch {
	case s == nil:
	case s.state == probing:
		m.end(s, &find.TakenError{By: *r})
	case compare(r, &s.record) > 0:
		m.end(s, &find.SupersededError{By: *r})
	default:
		if m.answers.take(now) {
			m.send(everybody, tell, s.record)
		}
		return
	}
	m.hear(r, until)
}

// hear remembers what somebody has.
func (m *machine) hear(r *find.Record, until clock.Time) {
	old, known := m.others[r.Key()]
	switch {
	case known && compare(r, &old.record) < 0, !known && len(m.others) >= maxHeard:
		return
	case !known:
		m.change(find.Came, *r)
	case !r.Equal(&old.record):
		m.change(find.Moved, *r)
	}
	m.others[r.Key()] = heard{*r, until}
}

// takeGone forgets what somebody had.
func (m *machine) takeGone(r *find.Record) {
	if old, known := m.others[r.Key()]; known && compare(&old.record, r) <= 0 {
		delete(m.others, r.Key())
		m.change(find.Gone, old.record)
	}
}

func (m *machine) change(what find.What, r find.Record) {
	m.changes = append(m.changes, find.Change{What: what, Record: r})
}

// known returns the records for an ID, or all of them for none: what is held here, and what was heard and is still believed.
func (m *machine) known(now clock.Time, id wire.ID) (records []find.Record) {
	for _, s := range m.mine {
		if s.state != probing && (id == wire.ID{} || id == s.record.Service) {
			records = append(records, s.record)
		}
	}
	if id.Kind() == wire.Named || id.Kind() == wire.Random {
		if h, ok := m.others[find.Key{Service: id}]; ok && now < h.until && len(records) == 0 {
			records = append(records, h.record)
		}
		return records
	}
	for _, h := range m.others {
		if now < h.until && (id == wire.ID{} || id == h.record.Service) {
			records = append(records, h.record)
		}
	}
	return records
}

// tick does what is due, and returns when something will be next.
func (m *machine) tick(now clock.Time) (next clock.Time) {
	next = clock.Never
	for key, h := range m.others {
		if now >= h.until {
			delete(m.others, key)
			m.change(find.Gone, h.record)
			continue
		}
		next = min(next, h.until)
	}
	for _, s := range m.mine {
		next = min(next, m.tickService(now, s))
	}
	return min(next, m.renew(now))
}
