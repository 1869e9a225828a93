package rdmc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"

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
			b, _ = have.AppendBinary(b) // it cannot fail: the error is there for encoding.BinaryAppender
		}
		h.Write(b)
	}
	return h.Sum64()
}

// Description encodes all that must be the same at all members: what Config marks so, and Version.
func (g *Group) Description() []byte {
	d := g.config.describe()
	return d.encode()
}

// Agrees compares a peer's Description with ours. The error says what differs, and names the peer.
func (g *Group) Agrees(peer int, theirs []byte) error {
	if peer < 0 || peer >= len(g.config.Members) {
		return g.config.wrong("there is no member %d", peer)
	}
	ours := g.config.describe()
	if bytes.Equal(theirs, ours.encode()) {
		return nil
	}
	d, err := parseDescription(theirs)
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
	for rank := range d.members {
		if err := d.compareMember(other, rank); err != nil {
			return err
		}
	}
	return nil
}

func (d *description) compareMember(other *description, rank int) error {
	if theirs, ours := other.members[rank], d.members[rank]; theirs != ours {
		return fmt.Errorf("member %d called %q, we have %q", rank, theirs, ours)
	}
	if theirs, ours := other.rackOf(rank), d.rackOf(rank); theirs != ours {
		return fmt.Errorf("member %d in rack %s, we have it in %s", rank, theirs, ours)
	}
	return nil
}

func (d *description) rackOf(rank int) string {
	if rank >= len(d.racks) {
		return "none"
	}
	return fmt.Sprint(d.racks[rank])
}
