package ripc

import (
	"errors"
	"testing"
)

func TestAMessageToAGroupReachesAll(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	var members []*Service
	for _, n := range []*Node{a, b, b, c} {
		s, err := n.Join(patient(t), "all")
		check(t, err)
		members = append(members, s)
	}
	for _, text := range []string{"one", "two"} {
		check(t, a.Send(patient(t), Group("all"), []byte(text)))
		for i, s := range members {
			m, err := s.Receive(patient(t))
			check(t, err)
			if string(m.Bytes()) != text || m.From() != a.ID() {
				t.Errorf("member %d got %q from %v", i, m.Bytes(), m.From())
			}
			m.Release()
		}
	}
	for _, s := range members {
		check(t, s.Close())
	}
	if err := a.Send(patient(t), Group("none")); !errors.Is(err, ErrNoService) {
		t.Errorf("a group without members: %v", err)
	}
	if _, err := a.Call(patient(t), Group("all")); !errors.Is(err, ErrArgument) {
		t.Errorf("a call to a group: %v", err)
	}
}

// The seed's own mode: who is not ready loses messages, and nobody waits (section III.A).
func TestMessagesMayBeDropped(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{Window: 4})
	s, err := b.Register(patient(t), "slow")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	from, err := a.Register(patient(t), "from")
	check(t, err)
	defer func() { check(t, from.Close()) }()
	for range 100 {
		check(t, from.Post(patient(t), Request{To: s.ID(), Drop: true}))
	}
	var dropped uint64
	check(t, a.on(func() { dropped = a.office.dropped }))
	if dropped < 90 {
		t.Errorf("%d of 100 were dropped, with room for 4", dropped)
	}
}
