package agent

import (
	"sync"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
)

// maxGuestCalls is how many calls of one member are answered at a time, so that there is always room for those of others.
const maxGuestCalls = MaxCalls * 3 / 4

// guests are the members whose calls are being answered. What one of them holds up, on purpose or because its link is slow, must not hold up
// the others.
type guests struct {
	mu  sync.Mutex
	all map[guestName]*guest
}

// guestName tells them apart, as sameMember does.
type guestName struct{ cluster, name, role string }

func nameOf(who keys.Identity) guestName { return guestName{who.Cluster, who.Name, who.Role} }

// guest is one of them.
type guest struct {
	who   keys.Identity
	long  chan struct{} // has an element while a long request is read
	calls int           // that are being answered; guests.mu guards it
}

func newGuests() *guests { return &guests{all: map[guestName]*guest{}} }

// enter counts a call of a member.
func (g *guests) enter(who keys.Identity) (*guest, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.all[nameOf(who)]
	if of == nil {
		of = &guest{who: who, long: make(chan struct{}, 1)}
		g.all[nameOf(who)] = of
	}
	if of.calls == maxGuestCalls {
		return nil, &control.Trouble{Class: control.Other, Text: "too many calls of one member at a time"}
	}
	of.calls++
	return of, nil
}

// leave is when a call was answered. A member without any is forgotten.
func (g *guests) leave(of *guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if of.calls--; of.calls == 0 {
		delete(g.all, nameOf(of.who))
	}
}
