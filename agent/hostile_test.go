package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// mallory is a pusher with a good certificate and bad manners.
var mallory = keys.Identity{Cluster: "c", Name: "mallory", Role: control.RolePusher}

// Any pusher may see the number of a push at an agent. It keeps the push from no other agent by ending it there before it has come.
func TestAStrangerEndsNothing(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	_, err := ask[control.Empty](r, mallory, control.MethodAbort, control.Abort{ID: p.id})
	check(t, err)
	must[control.Opened](r, control.MethodOpen, p.order)
}

// However many calls one member makes, those of others are answered.
func TestRoomForGuests(t *testing.T) {
	all := newGuests()
	var calls []*guest
	for range maxGuestCalls {
		g, err := all.enter(mallory)
		check(t, err)
		calls = append(calls, g)
	}
	_, err := all.enter(mallory)
	wantTrouble(t, err, control.Other, "too many calls")
	other := mallory
	other.Name = "ops"
	g, err := all.enter(other)
	check(t, err)
	for _, g := range append(calls, g) {
		all.leave(g)
	}
	if len(all.all) > 0 {
		t.Errorf("%v are remembered", all.all)
	}
}

// A member whose long request does not come to its end keeps only its own from being read.
func TestALongRequestThatHangs(t *testing.T) {
	r := newRig(t, Config{})
	address, _ := r.serve(t)
	_, ring := r.cluster.issue("ops", control.RolePusher)
	_, bad := r.cluster.issue("mallory", control.RolePusher)
	hanging, err := r.agent.guests.enter(mallory)
	check(t, err)
	hanging.long <- struct{}{}
	probe := func(c *caller) error {
		_, err := decodeAnswer[control.Empty](c, c.send([]byte(control.MethodProbe), make([]byte, 100_000)))
		return err
	}
	check(t, probe(newCaller(t, ring, address)))
	waited := make(chan error, 1)
	c := newCaller(t, bad, address)
	go func() { waited <- probe(c) }()
	select {
	case err := <-waited:
		t.Errorf("two are read at a time: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	<-hanging.long
	check(t, <-waited)
	r.agent.guests.leave(hanging)
}

// A push that is over keeps no hashes in memory, however long its pusher goes on asking for it.
func TestHashesAreGivenBack(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 20*testBlock)
	p.sendManifest(r, p.begin(r))
	must[control.Empty](r, control.MethodPages, control.Pages{ID: p.id, Pages: [][]byte{p.page(manifest.ContentStream, 0)}})
	s, err := r.agent.find(r.caller, p.id)
	check(t, err)
	if _, _, known := s.store.content.look(0); !known {
		t.Fatal("it was not there")
	}
	s.fail(errors.New("broken"))
	<-s.torn
	must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id})
	_, _, content := s.store.content.look(0)
	if _, _, list := s.store.manifest.look(0); content || list {
		t.Error("it is still there")
	}
}
