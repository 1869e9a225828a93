package mesh

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/connect"
)

// helloStep is the word of the first swap. Its number is the version of what members say to each other.
const helloStep = "mesh 1"

// hello is what members say to each other first.
type hello struct {
	member  int // who it says it is
	members int // how many there are
	name    string
}

const helloSize = 4 + 4 // bytes in front of the name

func (h hello) encode() []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(h.member))
	b = binary.BigEndian.AppendUint32(b, uint32(h.members))
	return append(b, h.name...)
}

func decodeHello(note []byte) (hello, error) {
	if len(note) < helloSize || len(note) > helloSize+MaxName {
		return hello{}, fmt.Errorf("%w: a hello of %d bytes", connect.ErrMalformed, len(note))
	}
	member, members := binary.BigEndian.Uint32(note), binary.BigEndian.Uint32(note[4:])
	if members > MaxMembers || member >= members {
		return hello{}, fmt.Errorf("%w: member %d of %d", connect.ErrMalformed, member, members)
	}
	h := hello{member: int(member), members: int(members), name: string(note[helloSize:])}
	if checkWord("the name", h.name) != nil {
		return hello{}, fmt.Errorf("%w: the mesh's name is %q", connect.ErrMalformed, h.name)
	}
	return h, nil
}

// fits says why two members are not of one mesh.
func (h hello) fits(theirs hello) error {
	switch {
	case h.name != theirs.name:
		return fmt.Errorf("%w: this member is of mesh %q, the peer of mesh %q", errMismatch, h.name, theirs.name)
	case h.members != theirs.members:
		return fmt.Errorf("%w: this member knows %d members, the peer %d", errMismatch, h.members, theirs.members)
	case h.member == theirs.member:
		return fmt.Errorf("%w: both say that they are member %d", errMismatch, h.member)
	}
	return nil
}

// introduce swaps hellos on a new session, and returns who the peer is.
func (h hello) introduce(ctx context.Context, s *connect.Session) (int, error) {
	card, err := s.Swap(ctx, connect.Card{Step: helloStep, Note: h.encode()})
	if err != nil {
		return 0, err
	}
	theirs, err := decodeHello(card.Note)
	if err == nil {
		err = h.fits(theirs)
	}
	return theirs.member, err
}
