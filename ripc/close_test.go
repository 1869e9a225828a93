package ripc

import (
	"errors"
	"sync"
	"testing"
)

// Whoever waits for something when his node is closed hears so, whatever it is.
func TestWhoWaitsOnAClosedNodeHearsThat(t *testing.T) {
	for name, wait := range map[string]func(n *Node, b *Buffer) error{
		"a call": func(n *Node, _ *Buffer) error { return second(n.Call(patient(t), Name("slow"))) },
		"an idempotent one": func(n *Node, _ *Buffer) error {
			return second(n.Do(patient(t), Request{To: Name("slow"), Idempotent: true}))
		},
		"a call that lends": func(n *Node, b *Buffer) error {
			return second(n.Do(patient(t), Request{To: Name("slow"), Lend: []*Buffer{b}}))
		},
		"a post": func(n *Node, b *Buffer) error {
			return n.Post(patient(t), Request{To: Name("slow"), Lend: []*Buffer{b}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectory()
			server, client := newNode(t, d, Config{}), newNode(t, d, Config{})
			s, err := server.Register(patient(t), "slow")
			check(t, err)
			defer func() { check(t, s.Close()) }()
			lent := filled(t, client, 1000, "x")
			var done sync.WaitGroup
			for range 2 * 64 { // more than the service's process lets come
				done.Go(func() {
					if err := wait(client, lent); !errors.Is(err, ErrClosed) {
						t.Errorf("who waits hears %v", err)
					}
				})
			}
			m, err := s.Receive(patient(t))
			check(t, err)
			defer m.Release()
			check(t, client.Close())
			done.Wait()
		})
	}
}

// So does who pulls.
func TestAPullOfAClosedNodeSaysThat(t *testing.T) {
	p := pulling{office: &office{isClosed: true}}
	if p.Pulled(nil, ErrLost); !errors.Is(p.err, ErrClosed) || !errors.Is(p.err, ErrLost) {
		t.Error(p.err)
	}
}
