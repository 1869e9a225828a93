package rdmc

import "time"

// looks is how often, within Config.Stall, a member looks whether those that it waits for are alive. (On shared memory and
// on NICs a process that was stopped looks alive to the provider.)
const looks = 3

// watches reports whether there is somebody to wait for: those that a message needs, and between messages the herald.
func (g *Group) watches() bool { return len(g.active) > 0 || g.herald != nil }

func (g *Group) startWatching() {
	g.watching = true
	g.port.After(g.config.Stall/looks, makeTag(timerStall, 0, 0))
}

// watch looks at those that we wait for. Who was silent since the last look is asked for a sign of life; who has given
// none for Config.Stall after that has failed. Who answers may be as slow as it likes.
func (g *Group) watch() {
	g.watching = false
	if g.state != ready || !g.watches() {
		return
	}
	g.markAwaited()
	for i := range g.links {
		l := &g.links[i]
		if !l.awaited || l.heard {
			l.awaited, l.heard, l.silent = false, false, 0
			continue
		}
		l.awaited = false
		if l.silent++; l.silent > looks {
			g.giveUp(l)
			return
		}
		g.ping(l)
	}
	g.startWatching()
}

// giveUp ends the group because of a member that gives no sign of life: it has failed or, if it is the herald of an idle
// member, it may have said goodbye.
func (g *Group) giveUp(l *link) {
	if l.left {
		g.failAlone(l.leaver, ErrLeft)
		return
	}
	g.fail(l.rank, because(ErrSilent, silence(g.config.Stall)))
}

func (g *Group) ping(l *link) {
	if !l.pinged {
		l.pinged, l.wantsPing = true, true
		g.speak(l)
	}
}

// markAwaited marks the links that must move next: blocks are to come from them, are on their way to them, or cannot leave
// because they have not given a credit. Between messages that is the herald: in a chain or a tree there is no other way by
// which a member could hear that the group has ended.
func (g *Group) markAwaited() {
	if len(g.active) == 0 {
		g.herald.awaited = true
		return
	}
	for _, in := range g.incoming {
		if in.transfer != nil {
			in.link.awaited = true
		}
	}
	for _, out := range g.outgoing {
		if out.transfer != nil {
			out.link.awaited = true
		}
	}
	if g.sendAt == len(g.active) {
		return
	}
	t := g.active[g.sendAt]
	switch {
	case g.tells(t):
		g.heirs[t.toTell].awaited = true
	case t.sends:
		g.linkOf(t.nextSend.Peer).awaited = true
	}
}

// silence is how long somebody was silent, as an error.
type silence time.Duration

func (s silence) Error() string { return "for " + time.Duration(s).String() }
