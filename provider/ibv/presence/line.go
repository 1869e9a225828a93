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
	lines *lines
	at    netip.AddrPort

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
			callAll(l.lose())
			return
		case end == unreachable && !warned:
			l.lines.config.Log.Warn("cannot watch over peers at "+l.at.String()+
				": an idle end will not learn that they died", "error", err)
			warned = true
		}
		if !sleep(ctx, pause) {
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
	if m.kind != gone {
		return misplaced(m)
	}
	callAll(l.takeName(Name(m.value)))
	return nil
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
	var all []*Watch
	for _, watches := range l.watches {
		all = append(all, watches...)
	}
	l.retire()
	return all
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

func callAll(watches []*Watch) {
	for _, w := range watches {
		w.call()
	}
}

// sleep reports false if the context ended before the time was over.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
