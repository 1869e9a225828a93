package soft

import (
	"encoding/binary"
	"fmt"
)

// note is what neighbours say to each other, one in a packet. All kinds have the same fields; each uses its own.
type note struct {
	Magic   uint32
	Version uint16
	Kind    noteKind
	Found   uint8 // noteRegion: 1: there is such memory, and it may be mapped
	Device  uint64
	Here    noteName // of the sender
	There   noteName // of the receiver
	Life    lifeNote
	Key     uint64 // remote, or local if Domain says of which domain
	Domain  uint64
	Region  regionNote
	Extents uint32 // that follow
	Reason  [128]byte
}

const (
	noteMagic   = 0x74666577 // "weft"
	noteVersion = 1
	maxExtents  = 64
)

type noteKind uint8

const (
	noteHello  noteKind = iota + 1 // with the arena's descriptor
	noteCall                       // Here wants to connect to There; with the descriptor that wakes its completion queue
	noteAccept                     // Here has connected to There; with the same
	noteRefuse                     // Here will not connect to There
	noteRetire                     // Here does not look at There any more
	noteAsk                        // what is the memory with Key, of the domain of There?
	noteRegion                     // the answer; with the file's descriptor
	noteClosed                     // the memory with Key is closed
	noteBye                        // the device is closed: nothing of it looks here any more
)

type noteName struct {
	Device        uint64
	Number, Epoch uint32
}

func (p lifeName) note() noteName { return noteName{uint64(p.device), p.number, p.epoch} }

func (n noteName) name() lifeName { return lifeName{identity(n.Device), n.Number, n.Epoch} }

// lifeNote is where in the sender's arena the words of a life lie.
type lifeNote struct {
	End, Order, Words, Leaf         uint64
	Pool, Slots, Spans, Posts       uint64
	Bit, Group, Domain              uint64
	OrderLength, Depth, PostsLength uint32
	MaxSpans, Shared                uint32
}

// regionNote describes registered memory to somebody who is to map it.
type regionNote struct {
	Control, Serial, Base, Length, RemoteKey uint64
	LocalKey, Fragile                        uint32
}

type extentNote struct{ Offset, Length, At uint64 }

var noteSize = binary.Size(note{})

// encode returns the packet.
func (n *note) encode(extents []extent) []byte {
	n.Magic, n.Version, n.Extents = noteMagic, noteVersion, uint32(len(extents))
	b, _ := binary.Append(make([]byte, 0, noteSize+24*len(extents)), binary.LittleEndian, n)
	for _, e := range extents {
		b, _ = binary.Append(b, binary.LittleEndian, extentNote{e.offset, e.length, e.at})
	}
	return b
}

// decodeNote takes a packet apart, and refuses one that is not whole.
func decodeNote(b []byte) (n note, extents []extent, err error) {
	if len(b) < noteSize {
		return n, nil, fmt.Errorf("a note of %d bytes, at least %d are due", len(b), noteSize)
	}
	rest, _ := binary.Decode(b, binary.LittleEndian, &n)
	switch {
	case n.Magic != noteMagic:
		return n, nil, fmt.Errorf("a note that begins with %#x", n.Magic)
	case n.Version != noteVersion:
		return n, nil, fmt.Errorf("a peer that speaks version %d, this is version %d: use the same release on both sides",
			n.Version, noteVersion)
	case n.Extents > maxExtents || len(b)-rest != 24*int(n.Extents):
		return n, nil, fmt.Errorf("a note with %d extents in %d bytes", n.Extents, len(b)-rest)
	}
	for b = b[rest:]; len(b) > 0; b = b[24:] {
		var e extentNote
		_, _ = binary.Decode(b, binary.LittleEndian, &e)
		extents = append(extents, extent{e.Offset, e.Length, e.At})
	}
	return n, extents, nil
}

// reason puts an error into a note.
func (n *note) reason(err error) { copy(n.Reason[:], err.Error()) }

func (n *note) why() string {
	for i, c := range n.Reason {
		if c == 0 {
			return string(n.Reason[:i])
		}
	}
	return string(n.Reason[:])
}
