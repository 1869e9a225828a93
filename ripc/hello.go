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
	node     ID     // the process
	provider string // of its device: both must have the same
	terms    link.Terms
}

const (
	helloVersion = 1
	maxProvider  = 64
)

func (h *hello) append(b []byte) []byte {
	b = append(b, helloVersion)
	b = append(b, h.node[:]...)
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
	copy(h.node[:], c.Take("the process", len(h.node)))
	h.terms.Limit = int(c.Uint32("the limit"))
	h.terms.Credit = c.Uint32("the credit")
	h.provider = c.Text("the provider")
	if err := c.End(); err != nil {
		return hello{}, fmt.Errorf("the peer's hello: %w", err)
	}
	if !isNode(h.node) || printable.Check("the provider", h.provider, maxProvider) != nil {
		return hello{}, fmt.Errorf("the peer's hello: process %v, provider of %d bytes", h.node, len(h.provider))
	}
	return h, nil
}
