package soft

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
)

// party is a device at the other end of connections. Whatever it says on any of them shows that it is alive, so that ten
// thousand queue pairs to one peer cost one ping.
type party struct {
	home   *parties
	name   identity
	heard  atomic.Bool   // it has said something since the last look
	silent time.Duration // for how long it has not; the attendant's
	wires  []*wire       // guarded by home
}

// parties are those of a device. Its lock is taken last.
type parties struct {
	mu   sync.Mutex
	list map[identity]*party
	last clock.Time // when the attendant has listened
}

// join makes w a connection with the device that is so named.
func (p *parties) join(name identity, w *wire) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.list[name]
	if one == nil {
		if p.list == nil {
			p.list = make(map[identity]*party)
		}
		one = &party{home: p, name: name}
		one.heard.Store(true) // it has just been met: nobody has listened in vain yet
		p.list[name] = one
	}
	w.party, w.place = one, len(one.wires)
	one.wires = append(one.wires, w)
}

// remove ends that. The last connection takes the place of one that goes.
func (p *party) remove(w *wire) {
	p.home.mu.Lock()
	defer p.home.mu.Unlock()
	last := len(p.wires) - 1
	p.wires[last].place, p.wires[w.place] = w.place, p.wires[last]
	p.wires[last] = nil
	if p.wires = p.wires[:last]; last == 0 {
		delete(p.home.list, p.name)
	}
}

// hear notes a sign of life.
func (p *party) hear() {
	if !p.heard.Load() {
		p.heard.Store(true)
	}
}

// listen is the attendant's look at all parties, which it takes eight times in a timeout. Who is silent is asked to say
// something; who stays silent is given up: that is so late that no answer can still come, and so early that, with the
// time between two looks, the timeout is kept. Time in which nobody here got to listen is not the party's silence: of a
// long absence only a part counts, and what has come and was not read yet is a sign of life, too.
func (p *parties) listen(now clock.Time, timeout time.Duration) (any bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	passed := min(now.Sub(p.last), timeout/4)
	p.last = now
	for _, one := range p.list {
		if one.silent += passed; one.heard.Swap(false) {
			one.silent = 0
		}
		switch {
		case one.silent >= timeout*3/4 && !one.isUnread():
			one.giveUp()
		case one.silent >= timeout/4:
			one.ping()
		}
	}
	return len(p.list) > 0
}

// isUnread reports whether something has come from the party that nobody has read.
func (p *party) isUnread() bool {
	for _, w := range p.wires {
		if n, err := unix.IoctlGetInt(w.fd, unix.TIOCINQ); err == nil && n > 0 {
			return true
		}
	}
	return false
}

// ping has one of the connections ask for a sign of life.
func (p *party) ping() {
	w := p.wires[0]
	w.pinging.Store(true)
	w.life.bell.ring()
}

// giveUp breaks all connections with the party.
func (p *party) giveUp() {
	for _, w := range p.wires {
		if w.life.breakTo(phaseOrphaned) {
			w.life.announce()
			w.log(errSilent)
		}
	}
}
