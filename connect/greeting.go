package connect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/weft-fabric/weft/internal/cursor"
	"github.com/weft-fabric/weft/internal/printable"
)

const (
	magic   = "weft"
	version = 1 // of this exchange; a change of anything on the wire makes another one

	headSize    = len(magic) + 2 + 4
	maxOffers   = 16
	maxGreeting = 8 << 10           // bytes behind the head, of any version
	offerSize   = 2 + 1 + 4 + 4 + 8 // bytes, at least
)

// greeting is the first thing that an end says.
type greeting struct {
	identity Identity
	place    place
	offers   []Offer
}

func (g *greeting) check() error {
	for _, field := range []struct{ what, text string }{
		{"the name", g.identity.Name}, {"the program's version", g.identity.Version}, {"the host", g.identity.Host},
		{"the machine", g.place.machine},
	} {
		if err := printable.Check(field.what, field.text, maxText); err != nil {
			return err
		}
	}
	if len(g.offers) > maxOffers {
		return fmt.Errorf("%d offers, allowed are %d", len(g.offers), maxOffers)
	}
	for i, offer := range g.offers {
		if err := offer.check(); err != nil {
			return fmt.Errorf("offer %d: %w", i+1, err)
		}
	}
	return nil
}

func (o *Offer) check() error {
	switch {
	case o.Provider == "":
		return fmt.Errorf("the provider has no name")
	case int(o.Reach) >= len(reachNames):
		return fmt.Errorf("%v is unknown", o.Reach)
	case o.PeerTimeout < 0:
		return fmt.Errorf("the peer timeout %v is negative", o.PeerTimeout)
	}
	return printable.Check("the provider", o.Provider, maxText)
}

// encode makes the whole message of a greeting that was checked.
func (g *greeting) encode() []byte {
	body := g.appendBody(nil)
	head := binary.BigEndian.AppendUint16([]byte(magic), version)
	return append(binary.BigEndian.AppendUint32(head, uint32(len(body))), body...)
}

func (g *greeting) appendBody(b []byte) []byte {
	b = appendText(b, g.identity.Name)
	b = appendText(b, g.identity.Version)
	b = appendText(b, g.identity.Host)
	b = binary.BigEndian.AppendUint32(b, g.identity.User)
	b = binary.BigEndian.AppendUint32(b, g.identity.Process)
	b = appendText(b, g.place.machine)
	b = binary.BigEndian.AppendUint64(b, g.place.instance)
	b = binary.BigEndian.AppendUint32(b, uint32(len(g.offers)))
	for _, offer := range g.offers {
		b = appendText(b, offer.Provider)
		b = append(b, byte(offer.Reach))
		b = binary.BigEndian.AppendUint32(b, offer.MaxMessage)
		b = binary.BigEndian.AppendUint32(b, offer.MaxQueuePairs)
		b = binary.BigEndian.AppendUint64(b, uint64(offer.PeerTimeout))
	}
	return b
}

func decodeGreeting(body []byte) (g greeting, err error) {
	c := cursor.New(body)
	g.identity = Identity{Name: c.Text("the name"), Version: c.Text("the program's version"), Host: c.Text("the host"),
		User: c.Uint32("the user"), Process: c.Uint32("the process")}
	g.place = place{machine: c.Text("the machine"), instance: c.Uint64("the instance")}
	n := c.Count("offers", maxOffers, offerSize)
	for range n {
		g.offers = append(g.offers, decodeOffer(c))
	}
	if err := c.End(); err != nil {
		return greeting{}, err
	}
	return g, g.check()
}

func decodeOffer(c *cursor.Cursor) Offer {
	offer := Offer{Provider: c.Text("a provider"), Reach: Reach(c.Uint8("a reach")),
		MaxMessage: c.Uint32("the largest message"), MaxQueuePairs: c.Uint32("the number of queue pairs")}
	timeout := c.Uint64("the peer timeout")
	if timeout > math.MaxInt64 {
		c.Fail("the peer timeout %d is out of range", timeout)
	}
	offer.PeerTimeout = time.Duration(timeout)
	return offer
}

// readGreeting reads and checks what the peer says first.
func readGreeting(from io.Reader) (greeting, error) {
	var head [headSize]byte
	if err := readHead(from, head[:]); err != nil {
		return greeting{}, err
	}
	theirs := binary.BigEndian.Uint16(head[len(magic):])
	if theirs != version {
		return greeting{}, fmt.Errorf("%w: this end speaks version %d of the exchange, the peer version %d; run the same release of weft on both ends",
			ErrVersion, version, theirs)
	}
	length := binary.BigEndian.Uint32(head[len(magic)+2:])
	if length > maxGreeting {
		return greeting{}, fmt.Errorf("%w: a greeting of %d bytes, allowed are %d", ErrMalformed, length, maxGreeting)
	}
	body, err := readBody(from, length)
	if err != nil {
		return greeting{}, err
	}
	g, err := decodeGreeting(body)
	if err != nil {
		return greeting{}, fmt.Errorf("%w: greeting: %w", ErrMalformed, err)
	}
	return g, nil
}

// readHead reads the magic first: who sends something else may not send more.
func readHead(from io.Reader, head []byte) error {
	if _, err := io.ReadFull(from, head[:len(magic)]); err != nil {
		return err
	}
	if got := string(head[:len(magic)]); got != magic {
		return fmt.Errorf("%w: it begins with %q, not with %q%s", ErrMalformed, got, magic, guess(got))
	}
	_, err := io.ReadFull(from, head[len(magic):])
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// guess says what else the peer may be.
func guess(start string) string {
	switch {
	case (start[0] == 0x15 || start[0] == 0x16) && start[1] == 3:
		return "; that is TLS: configure TLS on both ends, or on neither"
	case start == "GET " || start == "POST" || start == "HTTP" || start == "HEAD":
		return "; that is HTTP"
	case start == "SSH-":
		return "; that is SSH"
	}
	return ""
}
