package rdmc

import (
	"errors"
	"testing"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// CompletionRoom is enough for a group, and one less is not.
func TestCompletionRoom(t *testing.T) {
	r := &rig{t: t}
	r.open(Config{Name: "g", Members: names(1), BlockSize: 64})
	incoming := func(Message) Place { return Place{} }
	halves := []schedule.Set{schedule.NewSet(2), schedule.NewSet(2), schedule.NewSet(2), schedule.NewSet(2), schedule.NewSet(2)}
	halves[1].Add(0)
	halves[4].Add(1)
	for _, c := range []Config{
		{Members: names(1)}, {Members: names(2)}, {Members: names(13), Self: 5}, {Members: names(13), Self: 5, Algorithm: schedule.Circulant},
		{Members: names(9), Self: 8, Credits: 7, Sends: 3}, {Members: names(9), Offload: true}, {Members: names(30), Algorithm: schedule.Sequential},
		{Members: names(5), Self: 2, Algorithm: schedule.Chain, BlockSize: 64, // its repair needs more peers than the chain
			Unfinished: []Unfinished{{Message: Message{Size: 100, BlockSize: 64}, Have: halves}}},
	} {
		c.Incoming = incoming
		room, err := CompletionRoom(c)
		check(t, err)
		check(t, r.members[0].make(t, c, room))
		if err := r.members[0].make(t, c, room-1); room > 1 && !errors.Is(err, verbs.ErrQueueFull) {
			t.Errorf("%+v needs less than %d: %v", c, room, err)
		}
	}
}

// make makes a group on a queue with so much room, and lets it go.
func (m *member) make(t *testing.T, c Config, room int) error {
	queue, err := m.device.NewCompletionQueue(max(1, room))
	check(t, err)
	defer func() { check(t, queue.Close()) }()
	l, err := loop.New(loop.Config{Completions: queue})
	check(t, err)
	defer func() { check(t, l.Close()) }()
	g, err := New(l, m.domain, c)
	if err == nil {
		g.Discard()
	}
	return err
}
