package rdmc

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// description is all that must be the same at all members.
type description struct {
	version    uint32
	name       string
	members    []string
	algorithm  schedule.Algorithm
	racks      []int
	stripes    int
	blockSize  int
	credits    int
	offload    bool
	unfinished uint64 // a hash of what is unfinished
}

func (c *Config) describe() description {
	return description{version: Version, name: c.Name, members: c.Members, algorithm: c.Algorithm, racks: c.Racks,
		stripes: c.Stripes, blockSize: c.BlockSize, credits: c.Credits, offload: c.Offload, unfinished: c.unfinishedHash()}
}

// unfinishedHash is the same where the same messages are unfinished, and everybody has the same blocks of them.
func (c *Config) unfinishedHash() uint64 {
	h := fnv.New64a()
	for i := range c.Unfinished {
		u := &c.Unfinished[i]
		b := binary.LittleEndian.AppendUint64(nil, u.Number)
		b = binary.LittleEndian.AppendUint64(b, u.Size)
		for _, have := range u.Have {
			for block := range have.Len() {
				if have.Has(block) {
					b = binary.LittleEndian.AppendUint32(b, uint32(block))
				}
			}
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			h.Write(b)
			b = b[:0]
		}
	}
	return h.Sum64()
}

// Description encodes all that must be the same at all members: what Config marks so, and Version.
func (g *Group) Description() []byte {
	d := g.config.describe()
	return d.encode()
}

func (d *description) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, headerMagic)
	b = binary.LittleEndian.AppendUint32(b, d.version)
	b = appendString(b, d.name)
	b = binary.AppendUvarint(b, uint64(len(d.members)))
	for _, name := range d.members {
		b = appendString(b, name)
	}
	b = append(b, byte(d.algorithm), offloadByte(d.offload))
	b = binary.AppendUvarint(b, uint64(len(d.racks)))
	for _, rack := range d.racks {
		b = binary.AppendVarint(b, int64(rack))
	}
	for _, n := range []int{d.stripes, d.blockSize, d.credits} {
		b = binary.AppendVarint(b, int64(n))
	}
	return binary.LittleEndian.AppendUint64(b, d.unfinished)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func offloadByte(offload bool) byte {
	if offload {
		return 1
	}
	return 0
}

// reader takes a description apart. Once it has failed it reads nothing but zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return make([]byte, min(max(n, 0), 8))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) varint() int {
	n, used := binary.Varint(r.rest)
	if used <= 0 {
		r.bad = true
		return 0
	}
	r.take(used)
	return int(n)
}

// count reads how many things follow, each of at least a byte.
func (r *reader) count() int {
	n, used := binary.Uvarint(r.rest)
	if used <= 0 || n > uint64(len(r.rest)) {
		r.bad = true
		return 0
	}
	r.take(used)
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	if r.bad {
		return ""
	}
	return string(r.take(n))
}

// parseDescription is the reverse of encode. Of another version it reads only which.
func parseDescription(b []byte) (d description, err error) {
	r := reader{rest: b}
	if magic := binary.LittleEndian.Uint32(r.take(4)); magic != headerMagic {
		return d, fmt.Errorf("no description of a group")
	}
	if d.version = binary.LittleEndian.Uint32(r.take(4)); d.version != Version {
		return d, nil
	}
	d.name = r.text()
	for range r.count() {
		d.members = append(d.members, r.text())
	}
	kind := r.take(2)
	d.algorithm, d.offload = schedule.Algorithm(kind[0]), kind[1] != 0
	for range r.count() {
		d.racks = append(d.racks, r.varint())
	}
	d.stripes, d.blockSize, d.credits = r.varint(), r.varint(), r.varint()
	d.unfinished = binary.LittleEndian.Uint64(r.take(8))
	if r.bad || len(r.rest) > 0 {
		return d, fmt.Errorf("a description of a group that is cut off or too long")
	}
	return d, nil
}

// Agrees compares a peer's Description with ours. The error says what differs, and names the peer.
func (g *Group) Agrees(peer int, theirs []byte) error {
	if peer < 0 || peer >= len(g.config.Members) {
		return g.config.wrong("there is no member %d", peer)
	}
	d, err := parseDescription(theirs)
	ours := g.config.describe()
	if err == nil {
		err = ours.compare(&d)
	}
	if err != nil {
		return fmt.Errorf("group %s: %w: member %d (%s) has %w", g.config.Name, ErrArgument, peer, g.config.Members[peer], err)
	}
	return nil
}

// compare says what another one has, and what we have, where they first differ.
func (d *description) compare(other *description) error {
	for _, field := range []struct {
		what         string
		theirs, ours any
	}{
		{"version", other.version, d.version},
		{"group name", other.name, d.name},
		{"number of members", len(other.members), len(d.members)},
		{"algorithm", other.algorithm, d.algorithm},
		{"stripes", other.stripes, d.stripes},
		{"block size", other.blockSize, d.blockSize},
		{"credits", other.credits, d.credits},
		{"offload", other.offload, d.offload},
		{"unfinished messages with hash", other.unfinished, d.unfinished},
	} {
		if field.theirs != field.ours {
			return fmt.Errorf("%s %v, we have %v", field.what, field.theirs, field.ours)
		}
	}
	for rank, name := range d.members {
		if other.members[rank] != name {
			return fmt.Errorf("member %d called %q, we have %q", rank, other.members[rank], name)
		}
	}
	if !slices.Equal(other.racks, d.racks) {
		return fmt.Errorf("racks %v, we have %v", other.racks, d.racks)
	}
	return nil
}
