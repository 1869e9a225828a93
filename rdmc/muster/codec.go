package muster

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/internal/cursor"
	"github.com/weft-fabric/weft/verbs"
)

// offer is what one member tells another of a group that both are in.
type offer struct {
	description []byte          // all that must be the same
	addresses   []verbs.Address // of the queue pairs for that member; none if the two exchange nothing
	turn        int             // when the group is connected; the root's counts
}

// Limits of what members tell each other.
const (
	maxDescription = 1 << 20 // bytes
	maxAddresses   = 16      // of one group, for one member
	maxAddress     = 512     // bytes, as package driver says
	maxTurns       = MaxGroups / batch
	leastOffer     = 3 * 4 // bytes
)

// encodeOffers makes a note: how many turns this member has groups for, how many offers follow, and for each its turn, the
// description and the addresses, with their lengths in front.
func encodeOffers(turns int, offers []offer) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(turns))
	b = binary.BigEndian.AppendUint32(b, uint32(len(offers)))
	for _, o := range offers {
		b = binary.BigEndian.AppendUint32(b, uint32(o.turn))
		b = appendBytes(b, o.description)
		b = binary.BigEndian.AppendUint32(b, uint32(len(o.addresses)))
		for _, address := range o.addresses {
			b = appendBytes(b, []byte(address))
		}
	}
	return b
}

func appendBytes(b, field []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(field))), field...)
}

func decodeOffers(note []byte) (turns int, offers []offer, err error) {
	c := cursor.New(note)
	if turns = int(c.Uint32("the number of turns")); turns > maxTurns {
		c.Fail("%d turns, allowed are %d", turns, maxTurns)
	}
	for range c.Count("groups", MaxGroups, leastOffer) {
		o := offer{turn: int(c.Uint32("a turn"))}
		if o.turn >= turns {
			c.Fail("a group for turn %d of %d", o.turn, turns)
		}
		o.description = readBytes(c, "description", maxDescription)
		for range c.Count("addresses", maxAddresses, 4) {
			o.addresses = append(o.addresses, verbs.Address(readBytes(c, "address", maxAddress)))
		}
		offers = append(offers, o)
	}
	return turns, offers, malformed(c.End())
}

// readBytes reads what appendBytes wrote.
func readBytes(c *cursor.Cursor, what string, limit int) []byte {
	return c.Take(what, c.Count("bytes of "+what, limit, 1))
}

// malformed marks an error as one of what a member sent.
func malformed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}
