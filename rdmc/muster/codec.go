package muster

import (
	"encoding/binary"
	"fmt"

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
	c := cursor{rest: note}
	turns = c.turns()
	for range c.count("groups", MaxGroups) {
		o := offer{turn: int(c.uint32("a turn"))}
		if o.turn >= turns {
			c.fail("a group for turn %d of %d", o.turn, turns)
		}
		o.description = c.bytes("a description", maxDescription)
		for range c.count("addresses", maxAddresses) {
			o.addresses = append(o.addresses, verbs.Address(c.bytes("an address", maxAddress)))
		}
		offers = append(offers, o)
	}
	return turns, offers, c.end()
}

func (c *cursor) turns() int {
	n := int(c.uint32("the number of turns"))
	if n > maxTurns {
		c.fail("%d turns, allowed are %d", n, maxTurns)
	}
	return n
}

// cursor reads fields one after another. After the first that is wrong, it reads zeros and keeps the error.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
		c.rest = nil
	}
}

func (c *cursor) take(what string, n int) []byte {
	if n > len(c.rest) {
		c.fail("%s needs %d bytes, but %d are left", what, n, len(c.rest))
		return nil
	}
	field := c.rest[:n:n]
	c.rest = c.rest[n:]
	return field
}

func (c *cursor) uint32(what string) uint32 {
	if field := c.take(what, 4); field != nil {
		return binary.BigEndian.Uint32(field)
	}
	return 0
}

func (c *cursor) uint64(what string) uint64 {
	if field := c.take(what, 8); field != nil {
		return binary.BigEndian.Uint64(field)
	}
	return 0
}

// count reads how many things follow, each of at least four bytes.
func (c *cursor) count(what string, limit int) int {
	n := int(c.uint32("the number of " + what))
	if n > limit || n > len(c.rest)/4 {
		c.fail("%d %s in %d bytes, allowed are %d", n, what, len(c.rest), limit)
		return 0
	}
	return n
}

func (c *cursor) bytes(what string, limit int) []byte {
	n := int(c.uint32(what))
	if n > limit {
		c.fail("%s of %d bytes, allowed are %d", what, n, limit)
		return nil
	}
	return c.take(what, n)
}

// end returns what was wrong, be it that something is left.
func (c *cursor) end() error {
	if len(c.rest) > 0 {
		c.fail("%d bytes too many", len(c.rest))
	}
	return c.err
}
