package cast

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

func (m *member) form(ctx context.Context) error {
	ready := make(chan struct{}, 2)
	m.node.ready = func() { ready <- struct{}{} }
	notes := make([][]byte, len(m.job.Members))
	for i := range notes {
		all := [2][]verbs.Address{}
		for g, group := range m.node.groups {
			if g == 1 && i > 1 {
				continue
			}
			all[g] = group.Addresses(i)
		}
		notes[i], _ = json.Marshal(all)
	}
	theirs, err := m.mesh.Exchange(ctx, "groups", notes)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	m.node.loop.Do(func() {
		for g, group := range m.node.groups {
			for _, peer := range group.Peers() {
				var all [2][]verbs.Address
				if err := json.Unmarshal(theirs[peer], &all); err != nil {
					done <- err
					return
				}
				if err := group.Connect(peer, all[g]); err != nil {
					done <- fmt.Errorf("peer %d: %w", peer, err)
					return
				}
			}
		}
		done <- nil
	})
	if err := <-done; err != nil {
		return err
	}
	for range m.node.groups {
		select {
		case <-ready:
		case f := <-m.node.failed:
			return f
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (m *member) leave() error { return nil }
