package agent

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// errNoPush: nobody has opened it, or it was forgotten.
var errNoPush = &control.Trouble{Class: control.Other, Text: "there is no such push here: it was not opened, it has ended, or nothing was heard of its pusher for too long"}

// errOpening: somebody else has just opened it.
var errOpening = &control.Trouble{Class: control.Other, Text: "the push is being opened"}

// find is a push that is open, and the caller's.
func (a *agent) find(caller keys.Identity, id manifest.ID) (*session, error) {
	a.mu.Lock()
	s := a.sessions[id]
	a.mu.Unlock()
	switch {
	case s == nil:
		return nil, errNoPush
	case !sameMember(s.owner, caller):
		return nil, refused("push %v is not one of %s", id, caller.Name)
	}
	return s, nil
}

func sameMember(a, b keys.Identity) bool {
	return a.Cluster == b.Cluster && a.Name == b.Name && a.Role == b.Role
}

// checkNew says whether a push may be opened, of which nobody has heard.
func (a *agent) checkNew(id manifest.ID) error {
	a.mu.Lock()
	isThere := a.sessions[id] != nil
	a.mu.Unlock()
	if isThere {
		return errOpening
	}
	return a.checkRoom()
}

// add makes a session known, and has it run.
func (a *agent) add(s *session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.isStopping: // stop waits for those that are known
		return errStopping
	case slices.ContainsFunc(a.disowned, s.isDisowned):
		return untimely("push %v was ended before it had begun", s.order.ID)
	}
	a.sessions[s.order.ID] = s
	a.runs.Go(s.run)
	return nil
}

// disowned is a push that its pusher has ended. Others may know its number, and have no say in it.
type disowned struct {
	id    manifest.ID
	owner keys.Identity
}

func (s *session) isDisowned(d disowned) bool {
	return d.id == s.order.ID && sameMember(d.owner, s.owner)
}

// disown has a push of the caller's never begin here that is not known, and reports whether it was not. Its opening may be under way: who is
// interrupted while an agent opens the push does not know whether it was.
func (a *agent) disown(caller keys.Identity, id manifest.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[id] != nil {
		return false
	}
	a.disowned = append(a.disowned, disowned{id, caller})
	a.disowned = a.disowned[max(0, len(a.disowned)-MaxPushes):]
	return true
}

// remove forgets a session that has ended.
func (a *agent) remove(s *session) {
	s.quit()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[s.order.ID] == s {
		delete(a.sessions, s.order.ID)
	}
}

// all are the sessions there are.
func (a *agent) all() (list []*session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		list = append(list, s)
	}
	return list
}

// openPushes is how many there are that are not over.
func (a *agent) openPushes() int {
	return len(slices.DeleteFunc(a.all(), (*session).hasEnded))
}

func (a *agent) stopping() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isStopping
}

// isGone reports whether nothing is left of the session.
func (s *session) isGone() bool {
	select {
	case <-s.torn:
		return s.gone.Err() != nil
	default:
		return false
	}
}

// checkRoom says whether one more push may be opened. One that is over makes room for it, once: to give everything back takes time.
func (a *agent) checkRoom() error {
	if a.stopping() {
		return errStopping
	}
	list := slices.DeleteFunc(a.all(), (*session).isGone)
	if len(list) < MaxPushes {
		return nil
	}
	for _, s := range list {
		if s.hasEnded() && s.gone.Err() == nil {
			s.forget()
			return nil
		}
	}
	return &control.Trouble{Class: control.Preflight, Text: fmt.Sprintf("%d pushes are under way, more are not allowed; try again when one of them has ended", len(list))}
}
