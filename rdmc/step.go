package rdmc

import "github.com/weft-fabric/weft/verbs"

// Step implements loop.Machine. It is called by the loop only.
func (g *Group) Step(c *verbs.Completion) {
	t := tag(c.Tag)
	g.pumping = true
	switch kind := t.kind(); kind {
	case tagArrival:
		g.stepArrival(t.slot(), c)
	case tagSent:
		g.stepSent(t.slot(), c)
	case tagHeard:
		g.stepHeard(&g.links[t.link()], c)
	case tagSaid:
		g.stepSaid(&g.links[t.link()], c)
	case tagLastWord:
		g.stepLastWord(&g.links[t.link()])
	case tagConnect:
		g.stepConnected(&g.links[t.link()], c)
	default:
		g.stepTimer(kind, t)
	}
	g.pump()
	g.pumping = false
	if g.woken {
		g.woken = false
		g.wake()
	}
}

func (g *Group) stepTimer(kind tagKind, t tag) {
	switch kind {
	case timerCount:
		g.counting = false
		g.countOn()
	case timerPace:
		g.pacing = false
	case timerStall:
		g.watch()
	case timerBroke:
		g.stepBroke(&g.links[t.link()])
	case timerEnd:
		g.stepEnd()
	case timerOver:
		g.stepOver()
	case timerFree:
		g.free()
	}
}

// wake has the group look for work, at the end of the present Step or in one of its own: callbacks come from Steps only.
func (g *Group) wake() {
	switch {
	case g.state == closed: // it has left the loop
	case g.pumping:
		g.woken = true
	default:
		g.pumping = true
		g.port.After(0, makeTag(timerPump, 0, 0))
	}
}

// pump does whatever can be done now.
func (g *Group) pump() {
	if g.state == forming && g.missing == 0 {
		g.becomeConnected()
	}
	if g.state == connected && g.begun {
		g.becomeReady()
	}
	for again := g.state == ready; again && g.state == ready; again = g.finish() {
		g.woken = false // whoever woke us before has been heard
		g.startQueued()
		g.postReceives()
		g.giveCredits()
		g.postSends()
	}
}
