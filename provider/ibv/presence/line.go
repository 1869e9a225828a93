package presence

import (
	"bufio"
	"context"
	"math"
	"net/netip"
	"slices"
	"time"
)

// line is the connection to one office, or the attempts to make one.
type line struct {
	lines  *lines
	at     netip.AddrPort
	nudged chan struct{} // holds one if there is a new watch

	// All guarded by lines.mu.
	watches map[Name][]*Watch  // none of them empty
	link    *link              // nil while there is no connection
	stop    context.CancelFunc // ends run
}

const (
	mostCuts     = 5 // how often an office may hang up before it greets
	longestPause = time.Minute
)

// run watches until the peer's office is gone, or nobody watches any more. Whoever takes the last watch away stops it;
// Office.Close waits.
func (l *line) run(ctx context.Context) {
	pause, cuts, warned := l.lines.limits.pause, 0, false
	for {
		end, err := l.visit(ctx)
		if end == cutOff {
			cuts++
		}
		switch {
		case ctx.Err() != nil:
			return
		case end == isGone || cuts == mostCuts:
			l.lines.config.Log.Debug("an office is gone", "at", l.at, "error", err)
			callAll(l.lose(), Gone)
			return
		case end == unreachable && !warned:
			l.lines.config.Log.Warn("cannot watch over peers at "+l.at.String()+
				": an idle end will not learn that they died", "error", err)
			warned = true
		}
		if !l.rest(ctx, pause, end == unreachable) {
			return
		}
		pause = min(2*pause, longestPause)
	}
}

// visit makes a connection and listens to it for as long as it lasts.
func (l *line) visit(ctx context.Context) (outcome, error) {
	conn, err := dial(ctx, l.at, l.lines.config.KeepAlive)
	if err != nil {
		return dialOutcome(err), err
	}
	k := newLink(conn, math.MaxInt)
	defer k.cut()
	if !l.attach(ctx, k) {
		return isGone, context.Canceled
	}
	defer l.detach()
	l.lines.ended.Go(k.runWrite)
	r := bufio.NewReader(conn)
	if err := readGreeting(r); err != nil {
		return greetingOutcome(err), err
	}
	return isGone, k.read(r, l.hear)
}

// attach makes k the line's link, and asks for every name. It fails if nobody watches any more.
func (l *line) attach(ctx context.Context, k *link) bool {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	l.link = k
	for name := range l.watches {
		l.tell(message{subscribe, uint64(name)})
	}
	return true
}

func (l *line) detach() {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	l.link = nil
}

// tell sends a message, if there is a connection: a new one begins with every name. The caller holds lines.mu.
func (l *line) tell(m message) {
	if l.link != nil {
		l.link.send(m, 2*l.lines.limits.names)
	}
}

// hear does what the office says.
func (l *line) hear(m message) error {
	switch n := Name(m.value); m.kind {
	case here:
		callAll(l.named(n), Here)
	case gone:
		callAll(l.takeName(n), Gone)
	default:
		return misplaced(m)
	}
	return nil
}

// named lists the watches of a name.
func (l *line) named(n Name) []*Watch {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	return slices.Clone(l.watches[n])
}

// all lists all watches.
func (l *line) all() []*Watch {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	return l.list()
}

func (l *line) list() (list []*Watch) {
	for _, watches := range l.watches {
		list = append(list, watches...)
	}
	return list
}

// takeName takes the watches of a name that is gone.
func (l *line) takeName(n Name) []*Watch {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	watches := l.watches[n]
	delete(l.watches, n)
	l.retireIfIdle()
	return watches
}

// lose takes all watches.
func (l *line) lose() []*Watch {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	list := l.list()
	l.retire()
	return list
}

// drop takes one watch away, if it is still there.
func (l *line) drop(w *Watch) {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	watches := l.watches[w.peer]
	i := slices.Index(watches, w)
	if i < 0 {
		return
	}
	if len(watches) > 1 {
		l.watches[w.peer] = slices.Delete(watches, i, i+1)
		return
	}
	delete(l.watches, w.peer)
	l.tell(message{unsubscribe, uint64(w.peer)})
	l.retireIfIdle()
}

func (l *line) retireIfIdle() {
	if len(l.watches) == 0 {
		l.retire()
	}
}

// retire ends the line; the next watch to its address begins another. The caller holds lines.mu.
func (l *line) retire() {
	if l.lines.open[l.at] == l {
		delete(l.lines.open, l.at)
	}
	l.watches = nil
	l.stop()
	if l.link != nil {
		l.link.cut()
	}
}

func callAll(watches []*Watch, word Word) {
	for _, w := range watches {
		w.call(word)
	}
}

// nudge has a line that rests tell a new watch so.
func (l *line) nudge() {
	select {
	case l.nudged <- struct{}{}:
	default: // it has one to find already
	}
}

// rest waits before the next attempt. Of an office that cannot be reached, everybody is told that nothing is known, also
// who begins to watch meanwhile. It reports false if the context ended before the time was over.
func (l *line) rest(ctx context.Context, pause time.Duration, unknown bool) bool {
	over := time.After(pause)
	for {
		if unknown {
			callAll(l.all(), Unknown)
		}
		select {
		case <-over:
			return true
		case <-l.nudged:
		case <-ctx.Done():
			return false
		}
	}
}
