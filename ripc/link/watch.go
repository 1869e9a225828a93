package link

import "github.com/weft-fabric/weft/verbs"

// watch looks after a link that waits for its peer: for an answer, for what it was lent, or for bytes.
func (l *Link) watch() {
	if !l.watchSet && l.state == ready {
		l.watchSet = true
		l.hub.port.After(watchEvery, tagWatch<<kindShift|uint64(l.pair.Number()))
	}
}

// Keep counts users who want to hear of the peer's end also while nothing is under way: n more, or less.
func (l *Link) Keep(n int) {
	l.kept += n
	l.watch()
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
	if l.state != ready || len(l.calls)+len(l.lent)+l.reading.Len()+l.unheard.Len()+l.kept == 0 {
		return
	}
	if now := l.hub.config.Loop.Now(); now.Sub(l.posted) >= watchEvery && l.pair.Room() > 1 {
		l.posted = now
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
