package connect

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-fabric/weft/internal/cursor"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/verbs"
)

// Limits of a card.
const (
	MaxAddresses = 1 << 14  // queue-pair addresses of one card
	MaxSpans     = 1 << 16  // remote spans of one card
	MaxNote      = 64 << 10 // bytes of a note

	maxAddress = 512 // bytes, as package driver says
	spanSize   = 3 * 8
	maxCard    = (2 + maxText) + (4 + MaxAddresses*(2+maxAddress)) + (4 + MaxSpans*spanSize) + (4 + MaxNote)
)

// Card is what one end gives the other in a Swap. Every field may be empty.
type Card struct {
	Step      string             // what the swap is for, in a word; both ends must say the same
	Addresses []verbs.Address    // of queue pairs
	Spans     []verbs.RemoteSpan // capabilities on memory
	Note      []byte             // anything else
}

func (c *Card) check() error {
	if err := printable.Check("the step", c.Step, maxText); err != nil {
		return err
	}
	for _, part := range []struct {
		what     string
		n, limit int
	}{{"addresses", len(c.Addresses), MaxAddresses}, {"spans", len(c.Spans), MaxSpans}, {"bytes of note", len(c.Note), MaxNote}} {
		if part.n > part.limit {
			return fmt.Errorf("%d %s, allowed are %d", part.n, part.what, part.limit)
		}
	}
	for i, address := range c.Addresses {
		if len(address) == 0 || len(address) > maxAddress {
			return fmt.Errorf("address %d has %d bytes, allowed are 1 to %d", i, len(address), maxAddress)
		}
	}
	for i, span := range c.Spans {
		if span.Address > math.MaxUint64-span.Length {
			return fmt.Errorf("span %d of %d bytes at %#x reaches beyond the end of memory", i, span.Length, span.Address)
		}
	}
	return nil
}

// appendTo encodes a card that was checked.
func (c *Card) appendTo(b []byte) []byte {
	b = appendText(b, c.Step)
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Addresses)))
	for _, address := range c.Addresses {
		b = appendText(b, string(address))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Spans)))
	for _, span := range c.Spans {
		b = binary.BigEndian.AppendUint64(b, span.Address)
		b = binary.BigEndian.AppendUint64(b, span.Length)
		b = binary.BigEndian.AppendUint64(b, span.Key)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Note)))
	return append(b, c.Note...)
}

func decodeCard(body []byte) (Card, error) {
	c := cursor.New(body)
	card := Card{Step: c.Text("the step")}
	if n := c.Count("addresses", MaxAddresses, 2); n > 0 {
		card.Addresses = make([]verbs.Address, n)
	}
	for i := range card.Addresses {
		card.Addresses[i] = verbs.Address(c.Text("an address"))
	}
	if n := c.Count("spans", MaxSpans, spanSize); n > 0 {
		card.Spans = make([]verbs.RemoteSpan, n)
	}
	for i := range card.Spans {
		card.Spans[i] = verbs.RemoteSpan{Address: c.Uint64("a span"), Length: c.Uint64("a span"), Key: c.Uint64("a span")}
	}
	if n := c.Count("bytes of note", MaxNote, 1); n > 0 {
		card.Note = c.Take("the note", n)
	}
	if err := c.End(); err != nil {
		return Card{}, err
	}
	return card, card.check()
}
