package crew

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/rdmc"
)

// forge takes part in a Create of the others, as package muster would, but with a note and a last verdict of its own.
func (m *member) forge(ctx context.Context, o order) (err error) {
	note := o.Note
	if o.Version != 0 {
		if note, err = m.otherVersion(o.Groups[0], o.Version); err != nil {
			return err
		}
	}
	well := make([]byte, 4)
	last := well
	if o.Verdict != nil {
		last = o.Verdict
	}
	for _, step := range []struct {
		word string
		note []byte
	}{{"groups planned", well}, {"groups made", well}, {"groups", note}, {"groups compared", last}} {
		if _, err := m.mesh.Exchange(ctx, step.word, slices.Repeat([][]byte{step.note}, m.mesh.Len())); err != nil {
			return err
		}
	}
	return nil
}

// otherVersion describes a group as package muster does, but as another version of it would.
func (m *member) otherVersion(o groupOrder, version byte) ([]byte, error) {
	plan, err := m.newSquad(o).plan()
	if err != nil {
		return nil, err
	}
	plan.Members, plan.Self = o.Names, slices.Index(o.Ranks, m.mesh.Self())
	described := make(chan []byte, 1)
	err = m.loop.Do(func() {
		g, err := rdmc.New(m.loop, m.domain, plan.Config)
		if err != nil {
			described <- nil
			return
		}
		described <- g.Description()
		g.Discard()
	})
	if err != nil {
		return nil, err
	}
	description := bytes.Clone(<-described)
	description[4] = version // behind the magic
	var note []byte
	for _, n := range []int{1, 1, 0, len(description)} { // one turn, one group, in turn 0
		note = binary.BigEndian.AppendUint32(note, uint32(n))
	}
	note = append(note, description...)
	return binary.BigEndian.AppendUint32(note, 0), nil
}

// What a member says of its groups may be anything: the others name it, and can make groups afterwards.
func TestForged(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		c := newCrew(t, lane, 4, nil)
		g := groupOrder{Name: "g", Ranks: []int{0, 1, 2, hostile}, Names: []string{"a", "b", "c", "d"}, BlockSize: blockSize}
		for _, forged := range []order{
			{Note: []byte{}},
			{Note: make([]byte, 8), Verdict: []byte{0, 0, 0}},
			{Note: make([]byte, 8), Verdict: []byte{0, 0, 0, 9}},
			{Note: make([]byte, 8), Verdict: bytes.Repeat([]byte{0, 0, 0, 0, 27, 255}, 1<<12)},
			{Note: []byte{0, 0, 0, 0}},
			{Note: []byte{255, 255, 255, 255, 255, 255, 255, 255}},
			{Note: bytes.Repeat([]byte{0, 0, 0, 1}, 10)},
			{Note: bytes.Repeat([]byte("weft"), 1<<16)},
			{Version: rdmc.Version + 1, Groups: []groupOrder{g}},
		} {
			forged.Do = "forge"
			c.members[hostile].tell(forged)
			answers := c.order([]int{0, 1, 2}, func(int) order { return order{Do: "create", Groups: []groupOrder{g}} })
			c.says(answers, "member 3 (m3): ")
			if len(forged.Verdict) == 3 {
				c.says(answers, "what is next needs 4 bytes")
			}
			if forged.Version != 0 {
				c.says(answers, "version 2, we have 1")
			}
			if answer := c.members[hostile].answer(t); answer != "" {
				t.Error(answer)
			}
		}
		c.create(g)
		c.send(g, sizes...)
		c.arrive(g, g.Ranks, len(sizes))
	})
}
