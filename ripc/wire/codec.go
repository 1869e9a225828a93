package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The head, byte by byte:
//
//	0 magic · 2 version · 3 type · 4 code (2) · 6 items · 7 loans · 8 returns · 9 fills · 10 releases · 11 cells
//	12 credit (4) · 16 number (8) · 24 epoch (8) · 32 from (16) · 48 to (16) · 64 expiry (4) · 68 bytes of all items (4) ·
//	72 taken (4) · 76 patience (4)
const (
	magic   = 0x5716
	version = 4

	atVersion  = 2
	atType     = 3
	atCode     = 4
	atItems    = 6
	atLoans    = 7
	atReturns  = 8
	atFills    = 9
	atReleases = 10
	atCells    = 11
	atCredit   = 12
	atNumber   = 16
	atEpoch    = 24
	atFrom     = 32
	atTo       = 48
	atExpiry   = 64
	atBytes    = 68
	atTaken    = 72
	atPatience = 76
)

var order = binary.BigEndian

// Overhead is how many bytes a message without releases has beside its items.
func Overhead(items, spans, fills int) int {
	return HeadSize + items*itemSize + spans*spanSize + fills*fillSize
}

// Overhead is how many bytes the message has beside its items.
func (m *Message) Overhead() int {
	return Overhead(m.Items.n, m.Loans.n+m.Returns.n, m.Fills.n) + m.Releases.n*releaseSize
}

// ReleaseRoom is how many releases fit into so many bytes.
func ReleaseRoom(bytes int) int { return max(0, bytes) / releaseSize }

// Begin makes m a message that has a head, and nothing else.
func (m *Message) Begin(head *Head) {
	m.Head = *head
	m.Items.Clear()
	m.Loans.n, m.Returns.n, m.Fills.n, m.Releases.n = 0, 0, 0, 0
}

// Clear makes m an empty message.
func (m *Message) Clear() { m.Begin(&Head{}) }

// Put writes head and lists to b, which must have room for Overhead, and says how much that was. The items follow it on the
// wire, and are not copied: who sends gathers them from where they are.
func (m *Message) Put(b []byte) int {
	bytes := 0
	for i, item := range m.Items.All() {
		PutSize(b, i, len(item))
		bytes += len(item)
	}
	m.Head.PutShort(b, m.Items.n, bytes)
	at := HeadSize + m.Items.n*itemSize
	if m.isShort() {
		return at
	}
	return m.putLists(b, at)
}

// isShort reports whether the message has no list but its items. Most are such, and are spared the way through the others.
func (m *Message) isShort() bool { return m.Loans.n|m.Returns.n|m.Fills.n|m.Releases.n == 0 }

// PutSize writes how many bytes an item has.
func PutSize(b []byte, item, bytes int) { order.PutUint32(sizeOf(b, item), uint32(bytes)) }

// sizeOf is where the size of an item stands.
func sizeOf(b []byte, item int) []byte {
	at := HeadSize + item*itemSize
	return b[at : at+itemSize]
}

// putLists writes the lists behind the sizes of the items, and how long they are.
func (m *Message) putLists(b []byte, at int) int {
	b[atLoans], b[atReturns], b[atFills], b[atReleases] = byte(m.Loans.n), byte(m.Returns.n), byte(m.Fills.n), byte(m.Releases.n)
	at = putSpans(b, at, m.Loans.All())
	at = putSpans(b, at, m.Returns.All())
	for _, f := range m.Fills.All() {
		order.PutUint32(b[at:], f.Return)
		order.PutUint32(b[at+4:], 0)
		order.PutUint64(b[at+8:], f.Length)
		at += fillSize
	}
	for _, number := range m.Releases.All() {
		order.PutUint64(b[at:], number)
		at += releaseSize
	}
	return at
}

// Append appends the whole message to b, items included.
func (m *Message) Append(b []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, m.Overhead())...)
	m.Put(b[at:])
	for _, item := range m.Items.All() {
		b = append(b, item...)
	}
	return b
}

// PutShort writes the head of a message that has so many items, of so many bytes together, and no other list. With PutSize for each of
// them, and the items themselves from Overhead on, that is the whole message.
func (h *Head) PutShort(to []byte, items, bytes int) {
	b := (*[HeadSize]byte)(to)
	order.PutUint32(b[:], magic<<16|version<<8|uint32(h.Type))
	order.PutUint16(b[atCode:], uint16(h.Code))
	b[atItems], b[atLoans] = byte(items), 0
	order.PutUint32(b[atReturns:], uint32(h.Cells)) // no fills, no releases
	order.PutUint32(b[atCredit:], h.Credit)
	order.PutUint64(b[atNumber:], h.Number)
	order.PutUint64(b[atEpoch:], h.Epoch)
	*(*ID)(b[atFrom:]), *(*ID)(b[atTo:]) = h.From, h.To
	order.PutUint32(b[atExpiry:], h.Expiry)
	order.PutUint32(b[atBytes:], uint32(bytes))
	order.PutUint32(b[atTaken:], h.Taken)
	order.PutUint32(b[atPatience:], h.Patience)
}

func putSpans(b []byte, at int, list []Span) int {
	for _, s := range list {
		order.PutUint64(b[at:], s.Address)
		order.PutUint64(b[at+8:], s.Length)
		order.PutUint64(b[at+16:], s.Key)
		at += spanSize
	}
	return at
}

// Take takes b apart. The items point into b. Every field is checked; an error is ErrMalformed, says which it was, and leaves
// nothing of the message.
func (m *Message) Take(b []byte) error {
	if m.takePlain(b) {
		return nil
	}
	err := m.take(b)
	if err != nil {
		*m = Message{}
	}
	return err
}

// begin is how a head begins: magic and version.
const begin = magic<<8 | version

// takePlain takes apart a message of the most common kind, from one service to another, with items alone, and reports whether it was a
// good one. It is take without what such a message does not have; what is wrong with others is left to that.
func (m *Message) takePlain(b []byte) bool {
	if len(b) < HeadSize {
		return false
	}
	head := (*[HeadSize]byte)(b)
	lists := order.Uint64(head[atCode:]) >> 8 // the code, and how long each list is, beginning with the items
	items := lists >> 32
	if order.Uint32(head[:])>>8 != begin || items > MaxList || uint32(lists) != 0 {
		return false
	}
	m.Items.n, m.Loans.n, m.Returns.n, m.Fills.n, m.Releases.n = int(items), 0, 0, 0, 0
	m.takeFields(head)
	at := HeadSize + int(items)*itemSize
	return m.Head.isPlain() && at+int(order.Uint32(head[atBytes:])) == len(b) && m.takeItems(b, at) == nil
}

func (m *Message) take(b []byte) error {
	if len(b) < HeadSize {
		return malformed("%d bytes, a head has %d", len(b), HeadSize)
	}
	head := (*[HeadSize]byte)(b)
	if err := m.takeHead(head); err != nil {
		return err
	}
	if want := uint64(m.Overhead()) + uint64(order.Uint32(head[atBytes:])); want != uint64(len(b)) {
		return malformed("%d bytes, but its head and lists say %d", len(b), want)
	}
	at, err := m.takeLists(b, HeadSize+m.Items.n*itemSize)
	if err != nil {
		return err
	}
	return m.takeItems(b, at)
}

// takeHead reads the head, and the lengths of the lists.
func (m *Message) takeHead(b *[HeadSize]byte) error {
	if got := order.Uint32(b[:]) >> 8; got != begin {
		return malformed("it begins with %#x, version %d; this end speaks %#x, version %d", got>>8, got&0xff, magic, version)
	}
	m.takeFields(b)
	m.Items.n, m.Loans.n, m.Returns.n = int(b[atItems]), int(b[atLoans]), int(b[atReturns])
	m.Fills.n, m.Releases.n = int(b[atFills]), int(b[atReleases])
	if longest := max(m.Items.n, m.Loans.n, m.Returns.n, m.Fills.n, m.Releases.n); longest > MaxList {
		return malformed("a list has %d entries, at most %d", longest, MaxList)
	}
	return m.check()
}

func (m *Message) takeFields(b *[HeadSize]byte) {
	h := &m.Head
	h.Type, h.Code, h.Cells = Type(b[atType]), Code(order.Uint16(b[atCode:])), b[atCells]
	h.Credit, h.Number, h.Epoch = order.Uint32(b[atCredit:]), order.Uint64(b[atNumber:]), order.Uint64(b[atEpoch:])
	h.From, h.To = ID(b[atFrom:]), ID(b[atTo:])
	h.Taken, h.Expiry, h.Patience = order.Uint32(b[atTaken:]), order.Uint32(b[atExpiry:]), order.Uint32(b[atPatience:])
}

// isPlain reports whether check would find nothing in a message that has this head, and items alone.
func (h *Head) isPlain() bool {
	return h.Type-Send <= Answer-Send && h.Code == NoCode && h.Expiry == 0 && (h.Patience == 0 || h.Type == Call) &&
		h.From.isOne() && h.To.isOne()
}

// check finds what does not belong together.
func (m *Message) check() error {
	h := &m.Head
	lends := m.Loans.n+m.Returns.n > 0
	switch {
	case h.Type == 0 || h.Type > lastType:
		return malformed("type %d", h.Type)
	case h.Code > lastCode, h.Code != NoCode && !h.mayHaveCode(), h.Code == NoCode && h.Type == Refusal:
		return malformed("code %d in a %v", h.Code, h.Type)
	case !h.From.Valid() || !h.To.Valid() || h.From.Kind() == Group:
		return malformed("from %v to %v", h.From, h.To)
	case h.Type == Word && (h.From != ID{} || h.To != ID{} || m.Items.n > 0 || lends || m.Fills.n > 0):
		return malformed("a word that is more than one")
	case h.Type == Present && (h.From.Kind() == Nobody || h.To != ID{} || m.Items.n != 1 || lends || m.Fills.n > 0):
		return malformed("a presentation of %v to %v, with %d items", h.From, h.To, m.Items.n)
	case h.Type == GiveUp && (h.From != ID{} || !h.To.isOne() || h.Number == 0 || m.Items.n > 0 || lends || m.Fills.n > 0):
		return malformed("giving up call %d to %v is more than that, or less", h.Number, h.To)
	case h.Type == Ring && (h.From != ID{} || h.To != ID{} || m.Returns.n != 1 || m.Items.n > 0 || m.Loans.n > 0 || m.Fills.n > 0 || h.Expiry > 0):
		return malformed("a ring that is more than one, or less")
	case (h.Type == Stop || h.Type == Go) && (h.From != ID{} || h.To == ID{} || m.Items.n > 0 || lends || m.Fills.n > 0):
		return malformed("a %v for %v that is more than that, or less", h.Type, h.To)
	case h.Type < Word && (h.From == ID{} || h.To == ID{}):
		return malformed("a %v to nobody, or from nobody", h.Type)
	case h.Type == Refusal && (lends || m.Fills.n > 0):
		return malformed("a refusal that lends or fills")
	case m.Returns.n > 0 && h.Type != Call && h.Type != Send && h.Type != Ring:
		return malformed("returns in a %v", h.Type)
	case m.Fills.n > 0 && h.Type != Answer && h.Type != Send:
		return malformed("fills in a %v", h.Type)
	case h.To.Kind() == Group && h.Type < Stop && (h.Type != Send || lends || m.Fills.n > 0):
		return malformed("a %v to a group, or one that lends", h.Type)
	case h.Patience > 0 && h.Type != Call:
		return malformed("a %v that says how long it waits for an answer", h.Type)
	case lends != (h.Expiry > 0) && h.Type != Ring:
		return malformed("%d loans, %d returns, for %d ms", m.Loans.n, m.Returns.n, h.Expiry)
	}
	return nil
}

// mayHaveCode reports whether the code belongs to the type. A word with Moved says that its sender is about to leave.
func (h *Head) mayHaveCode() bool {
	return h.Type == Refusal || h.Type == Answer || h.Type == Word && h.Code == Moved
}

// takeLists reads what stands between the sizes of the items and the items.
func (m *Message) takeLists(b []byte, at int) (int, error) {
	at, err := takeSpans(b, at, &m.Loans, "loan")
	if err != nil {
		return at, err
	}
	if at, err = takeSpans(b, at, &m.Returns, "return"); err != nil {
		return at, err
	}
	if at, err = m.takeFills(b, at); err != nil {
		return at, err
	}
	for i := range m.Releases.list[:m.Releases.n] {
		m.Releases.list[i] = order.Uint64(b[at:])
		at += releaseSize
	}
	return at, nil
}

func takeSpans(b []byte, at int, list *List[Span], what string) (int, error) {
	for i := range list.list[:list.n] {
		s := Span{order.Uint64(b[at:]), order.Uint64(b[at+8:]), order.Uint64(b[at+16:])}
		if s.Length == 0 || s.Address > math.MaxUint64-s.Length {
			return at, malformed("%s %d of %d bytes at %#x", what, i, s.Length, s.Address)
		}
		list.list[i] = s
		at += spanSize
	}
	return at, nil
}

// takeFills reads fills. Each names another return, in rising order, so that none is filled twice.
func (m *Message) takeFills(b []byte, at int) (int, error) {
	for i := range m.Fills.list[:m.Fills.n] {
		f := Fill{Return: order.Uint32(b[at:]), Length: order.Uint64(b[at+8:])}
		if order.Uint32(b[at+4:]) != 0 || f.Return >= MaxList || i > 0 && f.Return <= m.Fills.list[i-1].Return {
			return at, malformed("fill %d of return %d", i, f.Return)
		}
		m.Fills.list[i] = f
		at += fillSize
	}
	return at, nil
}

// takeItems cuts the items out of b. Their sizes must be all that is left.
func (m *Message) takeItems(b []byte, at int) error {
	for i := range m.Items.All() {
		n := uint64(order.Uint32(sizeOf(b, i)))
		if n > uint64(len(b)-at) {
			return malformed("item %d has %d bytes, %d are left", i, n, len(b)-at)
		}
		m.Items.list[i] = b[at : at+int(n) : at+int(n)]
		at += int(n)
	}
	if at != len(b) {
		return malformed("%d bytes belong to no item", len(b)-at)
	}
	if m.Head.Type == Present {
		return m.checkName(m.Items.list[0])
	}
	return nil
}

// checkName finds a presentation that is not of who sends it.
func (m *Message) checkName(name []byte) error {
	if from := m.Head.From; len(name) > MaxName || from.Kind() == Named && hashed(Named, name) != from {
		return malformed("a presentation whose name, of %d bytes, is not that of %v", len(name), from)
	}
	return nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
