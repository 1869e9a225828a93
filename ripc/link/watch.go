package link

import "github.com/weft-fabric/weft/verbs"

// watch looks after a link that waits for its peer: for an answer, for what it was lent, for bytes, or to be let send.
func (l *Link) watch() {
	if !l.watchSet {
		l.setWatch()
	}
}

func (l *Link) setWatch() {
	if l.state == ready {
		l.watchSet, l.watchPosts = true, l.posts
		l.hub.port.After(watchEvery, tagWatch<<kindShift|l.number())
	}
}

// Keep counts users who want to hear of the peer's end also while nothing is under way: n more, or less.
func (l *Link) Keep(n int) {
	l.kept += n
	l.watch()
	if l.kept == 0 && l.leaves && l.state == ready {
		l.retryIn() // nothing else may be in the way of its end. Not at once: the user may not be done with it
	}
}

// Kept is how many there are.
func (l *Link) Kept() int { return l.kept }

// stepWatch takes back what has expired, and notices a peer that is gone. Nothing is outstanding at a queue pair that only
// waits to receive, so that its end would go unnoticed: a write of no bytes asks the peer's NIC whether it is there.
func (l *Link) stepWatch() {
	l.watchSet = false
	if l.state != ready {
		return
	}
	if l.pair.State() != verbs.Ready {
		l.fail(errPeerGone)
		return
	}
	l.expire()
	if l.state != ready || l.calls.len()+len(l.lent)+l.reading.Len()+l.unheard.Len()+l.kept+l.countUnsent() == 0 {
		return
	}
	if l.posts == l.watchPosts && l.pair.Room() > 1 {
		if err := l.pair.Write(l.tag(tagWritten), verbs.Span{}, verbs.RemoteSpan{}, verbs.Quiet); err != nil {
			l.fail(err)
			return
		}
	}
	l.watch()
}

// Probe ends a link whose peer is gone, as far as the device knows, and reports whether it goes on.
func (l *Link) Probe() bool {
	if l.state == ready && l.pair.State() != verbs.Ready {
		l.fail(errPeerGone)
	}
	return l.state < failing
}
