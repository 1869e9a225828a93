package ripc

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/internal/cursor"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/ripc/link"
)

// hello is what two processes tell each other before they are linked.
type hello struct {
	salt     salt   // from which, and from whose it is, follows the ID of the process
	node     ID     // that
	provider string // of its device: both must have the same
	rights          // what it may do: its session says that, not the peer
	terms    link.Terms
}

const (
	helloVersion = 3 // another one also when messages change: who meets hears so, instead of losing the link by the first of them
	maxProvider  = 64
)

func (h *hello) append(b []byte) []byte {
	b = append(b, helloVersion)
	b = append(b, h.salt[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(h.terms.Limit))
	b = binary.BigEndian.AppendUint32(b, h.terms.Credit)
	b = binary.BigEndian.AppendUint16(b, uint16(len(h.provider)))
	return append(b, h.provider...)
}

func decodeHello(b []byte) (h hello, err error) {
	c := cursor.New(b)
	if version := c.Uint8("the version"); c.Err() == nil && version != helloVersion {
		c.Fail("it speaks version %d, this end %d", version, helloVersion)
	}
	copy(h.salt[:], c.Take("the salt", len(h.salt)))
	h.terms.Limit = int(c.Uint32("the limit"))
	h.terms.Credit = c.Uint32("the credit")
	h.provider = c.Text("the provider")
	if err := c.End(); err != nil {
		return hello{}, fmt.Errorf("the peer's hello: %w", err)
	}
	if err := printable.Check("the provider", h.provider, maxProvider); err != nil {
		return hello{}, fmt.Errorf("the peer's hello: %w", err)
	}
	return h, nil
}
