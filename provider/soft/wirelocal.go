package soft

import "github.com/weft-fabric/weft/verbs/driver"

// This file is how a wire carries out requests of its own end that the peer does not hear of: Bind and Revoke. They start in
// their turn, when those before them are written or about to be, and are reported in their turn, when those are done. So
// nothing waits for the peer that need not: a Send goes out together with the Binds before it.

// carryLocal carries the request at hand out, unless that is done: the ones before it may be sent again, and they are not.
func (g *gathering) carryLocal(entry *waiting) bool {
	if !entry.carried {
		if v := g.w.q.carryLocal(&entry.request); v != verdict(driver.OK) {
			g.doom(driver.Status(v))
			return false
		}
		entry.carried = true
	}
	g.request++
	g.local++
	return true
}

// carryLocals carries out what nothing but a peer that does not read would hold up: no request before it has to be written.
func (w *wire) carryLocals() {
	log := &w.q.requester.backlog
	if w.life.phase() != phaseReady || w.starving || w.rewind || w.sent == log.count || !log.at(w.sent).request.Op.IsLocal() {
		return
	}
	b := &w.poller.output
	b.reset()
	w.doom = driver.OK
	for g := (gathering{w: w, b: b, request: w.sent}); g.request < log.count; {
		entry := log.at(g.request)
		if !entry.request.Op.IsLocal() || g.mayStart(entry) != arrived || !g.carryLocal(entry) {
			break
		}
	}
	w.passLocals()
	w.heed()
}

// passLocals counts those that are carried out, and behind nothing that is still to be written, as sent.
func (w *wire) passLocals() {
	for log := &w.q.requester.backlog; w.sent < log.count && log.at(w.sent).carried; {
		w.sent++
		w.local++
	}
	w.reportLocals()
}

// reportLocals reports those before which everything is done.
func (w *wire) reportLocals() {
	for log := &w.q.requester.backlog; w.local > 0 && log.front().carried; {
		w.sent--
		w.local--
		w.q.conclude(w.q.unkeep(), verdict(driver.OK))
	}
}
