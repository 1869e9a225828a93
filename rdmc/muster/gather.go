package muster

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/internal/cursor"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Limits of what a member can hold.
const (
	MaxHoldings    = 1 << 12            // messages
	maxTotalBlocks = 2 * rdmc.MaxBlocks // of all of them together
	leastHolding   = 2*8 + 2*4          // bytes
)

// Remains is what is left of the messages of a group after a failure: the same at all survivors, but for the Places.
type Remains struct {
	// Unfinished are the messages that the survivors can finish, for the Config of a group of theirs. Who holds nothing of a
	// message shares a set with others: Clone it to change it.
	Unfinished []rdmc.Unfinished
	// Lost are messages of which nobody holds some block: the root died before it had given everything away.
	Lost []rdmc.Message
}

// Gather brings together what the survivors of a group hold of its messages: those at ranks, which are the mesh's indexes of
// the members of the group that is to finish them. They all call it, with what Group.Holdings said. To that a member adds
// the complete messages that it still has, with all their blocks: others may lack them. Of a message that a member does not
// mention it holds nothing. Who gives holdings, or ranks, that cannot be tells the others, and all of them fail.
func Gather(ctx context.Context, m *mesh.Mesh, ranks []int, mine []rdmc.Holding) (Remains, error) {
	remains, err := gather(ctx, m, ranks, mine)
	if err != nil {
		return Remains{}, fmt.Errorf("muster: gather: %w", err)
	}
	return remains, nil
}

func gather(ctx context.Context, m *mesh.Mesh, ranks []int, mine []rdmc.Holding) (remains Remains, err error) {
	if ctx == nil || m == nil {
		return remains, fmt.Errorf("the context or the mesh is nil: %w", ErrArgument)
	}
	part, err := m.Among(slices.DeleteFunc(slices.Clone(ranks), func(i int) bool { return !m.Has(i) })...)
	if err != nil {
		return remains, err // nobody who has the same ranks waits for this member
	}
	mine, err = sorted(mine)
	if err = inOneLine(checkRanks(m, ranks), err); err != nil {
		err = fmt.Errorf("%w: %w", ErrArgument, err)
	}
	if err := verdict(ctx, part, "holdings checked", err); err != nil {
		return remains, err
	}
	note := encodeHoldings(mine)
	notes, err := part.Exchange(ctx, "holdings", slices.Repeat([][]byte{note}, m.Len()))
	if err != nil {
		return remains, err
	}
	notes[m.Self()] = note
	t := tally{members: len(ranks), messages: make(map[uint64]*rdmc.Unfinished)}
	for rank, member := range ranks {
		if err := t.add(rank, notes[member]); err != nil {
			return remains, fmt.Errorf("member %d (%s): %w", member, m.Name(member), err)
		}
	}
	t.place(mine)
	return t.remains(), nil
}

// tally is what all hold, as it comes together.
type tally struct {
	members  int
	messages map[uint64]*rdmc.Unfinished // by number
}

// add takes in what a member holds.
func (t *tally) add(rank int, note []byte) error {
	holdings, err := decodeHoldings(note)
	if err != nil {
		return err
	}
	for _, h := range holdings {
		u := t.messages[h.Number]
		if u == nil {
			u = t.begin(h.Message)
		}
		if u.Message != h.Message {
			return fmt.Errorf("%w: it has message %d of %d bytes in blocks of %d, others have %d in blocks of %d", ErrDisagree, h.Number,
				h.Size, h.BlockSize, u.Size, u.BlockSize)
		}
		u.Have[rank] = h.Have
	}
	return nil
}

// begin notes a message of which nobody holds anything yet. All have the same empty set: a member may name messages of
// millions of blocks, and one set for each member of the group could take all memory.
func (t *tally) begin(m rdmc.Message) *rdmc.Unfinished {
	u := &rdmc.Unfinished{Message: m, Have: slices.Repeat([]schedule.Set{schedule.NewSet(m.Blocks())}, t.members)}
	t.messages[m.Number] = u
	return u
}

// place notes where messages lie here.
func (t *tally) place(mine []rdmc.Holding) {
	for _, h := range mine {
		t.messages[h.Number].Place = h.Place
	}
}

// remains tells what can be finished from what cannot, in the order of sending.
func (t *tally) remains() (r Remains) {
	for _, number := range slices.Sorted(maps.Keys(t.messages)) {
		u := t.messages[number]
		held := schedule.NewSet(u.Blocks())
		for _, have := range u.Have {
			held.Union(have)
		}
		if held.Full() {
			r.Unfinished = append(r.Unfinished, *u)
		} else {
			r.Lost = append(r.Lost, u.Message)
		}
	}
	return r
}

// sorted puts holdings in the order of sending, and says what is wrong with them.
func sorted(holdings []rdmc.Holding) ([]rdmc.Holding, error) {
	holdings = slices.Clone(holdings)
	slices.SortFunc(holdings, func(a, b rdmc.Holding) int { return cmp.Compare(a.Number, b.Number) })
	blocks := 0
	for i, h := range holdings {
		if err := checkMessage(h.Message); err != nil {
			return nil, err
		}
		blocks += h.Blocks()
		if h.Have.Len() != h.Blocks() {
			return nil, fmt.Errorf("message %d has %d blocks, but its set is for %d", h.Number, h.Blocks(), h.Have.Len())
		}
		if i > 0 && holdings[i-1].Number == h.Number {
			return nil, fmt.Errorf("message %d is there twice", h.Number)
		}
	}
	if len(holdings) > MaxHoldings || blocks > maxTotalBlocks {
		return nil, fmt.Errorf("%d messages of %d blocks, allowed are %d of %d", len(holdings), blocks, MaxHoldings, maxTotalBlocks)
	}
	return holdings, nil
}

// checkMessage says whether there can be such a message.
func checkMessage(m rdmc.Message) error {
	if m.BlockSize < 1 || m.BlockSize > math.MaxInt32 || m.Size > rdmc.MaxBlocks*uint64(m.BlockSize) {
		return fmt.Errorf("message %d has %d bytes in blocks of %d", m.Number, m.Size, m.BlockSize)
	}
	return nil
}

// encodeHoldings makes a note: how many, and for each the message and the set of blocks.
func encodeHoldings(holdings []rdmc.Holding) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(holdings)))
	for _, h := range holdings {
		b = binary.BigEndian.AppendUint64(b, h.Number)
		b = binary.BigEndian.AppendUint64(b, h.Size)
		b = binary.BigEndian.AppendUint32(b, uint32(h.BlockSize))
		set, _ := h.Have.AppendBinary(nil) // it never fails
		b = appendBytes(b, set)
	}
	return b
}

func decodeHoldings(note []byte) ([]rdmc.Holding, error) {
	c := cursor.New(note)
	var holdings []rdmc.Holding
	blocks := 0
	for i := range c.Count("messages", MaxHoldings, leastHolding) {
		h := readHolding(c, maxTotalBlocks-blocks)
		if i > 0 && h.Number <= holdings[i-1].Number {
			c.Fail("message %d behind message %d", h.Number, holdings[i-1].Number)
		}
		if c.Err() != nil {
			break
		}
		blocks += h.Blocks()
		holdings = append(holdings, h)
	}
	if err := c.End(); err != nil {
		return nil, malformed(err)
	}
	return holdings, nil
}

// readHolding reads one message, with its set of at most so many blocks.
func readHolding(c *cursor.Cursor, most int) (h rdmc.Holding) {
	h.Number, h.Size = c.Uint64("a message"), c.Uint64("a message")
	h.BlockSize = int(c.Uint32("a message"))
	set := readBytes(c, "a set of blocks", rdmc.MaxBlocks/8+16)
	if c.Err() != nil {
		return h
	}
	err := checkMessage(h.Message)
	if err == nil && h.Blocks() > most {
		err = fmt.Errorf("message %d has %d blocks, and with the others more than %d", h.Number, h.Blocks(), maxTotalBlocks)
	}
	if err == nil {
		h.Have, err = schedule.ParseSet(set, h.Blocks())
	}
	if err == nil && h.Have.Len() != h.Blocks() {
		err = fmt.Errorf("message %d has %d blocks, but its set is for %d", h.Number, h.Blocks(), h.Have.Len())
	}
	if err != nil {
		c.Fail("%w", err)
	}
	return h
}
