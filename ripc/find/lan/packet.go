package lan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/internal/cursor"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// kind is what a packet says.
type kind uint8

const (
	ask   kind = iota + 1 // who has the service? With no ID: who has any?
	probe                 // I am about to have this service, unless somebody objects
	tell                  // I have these services
	gone                  // I had these services
	lastKind
)

// packet is what goes from one resolver to others, in one datagram.
type packet struct {
	kind    kind
	sender  [16]byte      // drawn by each resolver
	number  uint64        // of the sender's packets: rising
	sent    int64         // by the sender's wall clock, in nanoseconds
	lease   time.Duration // of the sender, in whole milliseconds
	id      wire.ID       // for ask alone
	records []find.Record // not for ask; one for probe
}

// A datagram:
//
//	magic (2) · version · kind · sender (16) · number (8) · sent (8) · lease in ms (4) · ID (16) or number of records (1) ·
//	length (2) and bytes of each record · keyed hash (32) of all that
const (
	magic       = 0x5746
	version     = 1
	headSize    = 2 + 1 + 1 + 16 + 8 + 8 + 4 + 1
	maxDatagram = 1200 // what every network takes in one piece
	maxRecord   = maxDatagram - headSize - 2 - sha256.Size
	maxLease    = time.Hour
)

var (
	errMalformed = errors.New("not what a resolver sends")
	errKey       = errors.New("made with another key")
)

// seal makes the datagram of a packet.
func (p *packet) seal(key []byte) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, maxDatagram), magic)
	b = append(b, version, byte(p.kind))
	b = append(b, p.sender[:]...)
	b = binary.BigEndian.AppendUint64(b, p.number)
	b = binary.BigEndian.AppendUint64(b, uint64(p.sent))
	b = binary.BigEndian.AppendUint32(b, uint32(p.lease/time.Millisecond))
	if p.kind == ask {
		b = append(b, p.id[:]...)
	} else {
		b = append(b, byte(len(p.records)))
	}
	for i := range p.records {
		at := len(b)
		b = p.records[i].Append(append(b, 0, 0))
		binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	}
	return append(b, hash(key, b)...)
}

func hash(key, b []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(b)
	return h.Sum(nil)
}

// unseal takes a datagram apart: first whether it was made with the key, so that others can say nothing more.
func unseal(key, b []byte) (*packet, error) {
	if len(b) < headSize+sha256.Size || len(b) > maxDatagram || binary.BigEndian.Uint16(b) != magic {
		return nil, errMalformed
	}
	if b[2] != version {
		return nil, fmt.Errorf("%w: version %d, this one is %d", errMalformed, b[2], version)
	}
	body := b[:len(b)-sha256.Size]
	if !hmac.Equal(hash(key, body), b[len(body):]) {
		return nil, errKey
	}
	p, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return p, nil
}

func decode(body []byte) (*packet, error) {
	c := cursor.New(body[3:])
	p := &packet{kind: kind(c.Uint8("kind"))}
	copy(p.sender[:], c.Take("sender", len(p.sender)))
	p.number = c.Uint64("number")
	p.sent = int64(c.Uint64("time"))
	p.lease = time.Duration(c.Uint32("lease")) * time.Millisecond
	if p.kind == ask {
		copy(p.id[:], c.Take("ID", len(p.id)))
	} else {
		p.decodeRecords(c)
	}
	if err := c.End(); err != nil {
		return nil, err
	}
	return p, p.check()
}

func (p *packet) decodeRecords(c *cursor.Cursor) {
	for range c.Uint8("number of records") {
		r, err := find.Decode(c.Take("record", int(c.Uint16("length of a record"))))
		if c.Err() != nil {
			return
		}
		if err == nil {
			err = r.CheckClaim()
		}
		if err != nil {
			c.Fail("%w", err)
			return
		}
		p.records = append(p.records, r)
	}
}

func (p *packet) check() error {
	switch {
	case p.kind == 0 || p.kind >= lastKind:
		return fmt.Errorf("kind %d", p.kind)
	case p.kind == probe && len(p.records) != 1:
		return fmt.Errorf("a probe with %d records", len(p.records))
	case !p.id.Valid():
		return fmt.Errorf("asked for %v", p.id)
	case p.lease < minLease || p.lease > maxLease:
		return fmt.Errorf("a lease of %v", p.lease)
	}
	return nil
}
