package agent

import (
	"context"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/member"
)

// maxWait is how long a pusher may wait for news.
const maxWait = control.Lease / 2

// tally is what the groups of a push have done.
type tally struct {
	sent uint64
	full time.Duration
	hops []control.Hop // of the present group, or the last
}

// status tells how a push goes, as soon as there is something new.
func (s *session) status(ctx context.Context, q *control.StatusRequest) (control.Status, error) {
	ctx, cancel := either(ctx, s.gone)
	defer cancel()
	now := s.board.readNext(ctx, q.Seen, min(time.Duration(q.Wait), maxWait))
	s.addCounts(&now)
	s.board.told(&now)
	return now, nil
}

// addCounts adds what is counted elsewhere.
func (s *session) addCounts(now *control.Status) {
	s.mu.Lock()
	t := s.tallied()
	s.mu.Unlock()
	counted := s.store.count()
	now.Have, now.Received, now.Disk = counted.have, counted.received, counted.disk
	now.Sent, now.Hops, now.Disk.Full = t.sent, t.hops, int64(t.full)
	now.Named, now.Moved = s.store.delivery.Named(), s.store.delivery.Moved()
	now.Disk.Oldest = int64(s.store.tasks.oldest())
}

// tallied is what all groups have done until now. The lock is held.
func (s *session) tallied() tally {
	t := s.tally
	if s.crew != nil {
		t = t.plus(s.crew.Stats())
	}
	if s.forms {
		t.hops = nil
	}
	t.sent = max(t.sent, s.told) // a crew that is too busy to answer says what it has said before
	s.agent.counts.sent.Add(float64(t.sent - s.told))
	s.told = t.sent
	return t
}

func (t tally) plus(stats member.Stats) tally {
	return tally{t.sent + stats.Sent, t.full + stats.Full, stats.Hops}
}
