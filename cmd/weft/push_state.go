package main

import (
	"sync"

	"github.com/weft-fabric/weft/push"
)

// What a host does, for people.
const (
	hostReceiving = "receiving"
	hostDone      = "complete"
	hostWaiting   = "not connected"
	hostSlow      = "slow"
	hostFailed    = "failed"
)

// hostStates are all of them, in the order in which they are told.
var hostStates = []string{hostReceiving, hostDone, hostWaiting, hostSlow, hostFailed}

// pushState is how far a push is, by what its events say. Any goroutine may use it.
type pushState struct {
	mu           sync.Mutex
	hosts        []string
	phase        string
	files, bytes uint64 // that were found so far
	plan         *push.Plan
	now          *push.Progress
	fates        map[string]fate
}

// fate is how it goes for one host.
type fate struct{ state, cause, why string }

func newPushState(hosts []string) *pushState {
	return &pushState{hosts: hosts, phase: "scan", fates: map[string]fate{}}
}

// take hears of one thing that happened.
func (s *pushState) take(e push.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case push.EventScan:
		s.files, s.bytes = e.Files, e.Bytes
	case push.EventPlan:
		s.plan = e.Plan
	case push.EventPhase:
		s.phase, s.now = e.Phase, nil
	case push.EventProgress:
		s.now = e.Progress
		if e.Progress != nil && e.Progress.Phase != "" {
			s.phase = e.Progress.Phase
		}
	case push.EventConnected:
		s.fates[e.Host] = fate{state: hostReceiving}
	case push.EventHostFailed:
		s.fates[e.Host] = fate{hostFailed, e.Cause, e.Text}
	case push.EventDemoted:
		s.fates[e.Host] = fate{hostSlow, "", e.Text}
	case push.EventHostDone:
		s.fates[e.Host] = fate{state: hostDone}
	}
}

// count is how many hosts are in each state.
func (s *pushState) count() map[string]int {
	n := map[string]int{}
	for _, host := range s.hosts {
		n[s.fateOf(host).state]++
	}
	return n
}

func (s *pushState) fateOf(host string) fate {
	if f, ok := s.fates[host]; ok {
		return f
	}
	return fate{state: hostWaiting}
}

// status says what every host does, folded.
func (s *pushState) status() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all causes
	for _, state := range hostStates {
		for _, host := range s.hosts {
			if f := s.fateOf(host); f.state == state {
				all.add(host, f.words(f.cause), f.words(f.why))
			}
		}
	}
	return all.lines()
}

func (f fate) words(why string) string {
	if why == "" {
		return f.state
	}
	return f.state + ": " + why
}
