package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// full is a message with something in every list.
func full() *Message {
	m := &Message{Head: Head{Type: Call, From: RandomID([15]byte{1}), To: NameID("kv/3"), Epoch: 7, Number: 1 << 60, Credit: 99, Taken: 12, Cells: 200,
		Expiry: 30_000, Patience: 10_000}}
	m.Items.Add([]byte("get"))
	m.Items.Add(nil)
	m.Items.Add([]byte("a key"))
	m.Loans.Add(Span{1 << 40, 1 << 20, 0xdead})
	m.Returns.Add(Span{1 << 41, 4096, 0xbeef})
	m.Returns.Add(Span{0, 1, 0})
	m.Releases.Add(12)
	return m
}

// answer is an answer to full.
func answer() *Message {
	m := &Message{Head: Head{Type: Answer, From: NameID("kv/3"), To: RandomID([15]byte{1}), Number: 1 << 60, Expiry: 1}}
	m.Loans.Add(Span{1, 1, 1})
	m.Fills.Add(Fill{0, 4096})
	m.Fills.Add(Fill{1, 0})
	return m
}

func word() *Message {
	m := &Message{Head: Head{Type: Word, Credit: 1<<32 - 1}}
	for i := range uint64(MaxList) {
		m.Releases.Add(i)
	}
	return m
}

// plain is a message with items alone.
func plain() *Message {
	m := &Message{Head: Head{Type: Send, From: RandomID([15]byte{1}), To: NameID("kv/3"), Number: 1}}
	m.Items.Add([]byte("a key"))
	return m
}

// tooMany is a message that is plain but for the number of its items.
func tooMany() []byte {
	m := plain()
	m.Items.Clear()
	b := m.Append(nil)
	b[atItems] = MaxList + 1
	return append(b, make([]byte, (MaxList+1)*itemSize)...)
}

func present() *Message {
	m := &Message{Head: Head{Type: Present, From: NameID("kv/3")}}
	m.Items.Add([]byte("kv/3"))
	return m
}

func giveUp() *Message {
	m := &Message{Head: Head{Type: GiveUp, To: NameID("kv/3"), Number: 1 << 60, Credit: 99}}
	m.Releases.Add(12)
	return m
}

// stop is a Stop, or a Go.
func stop(kind Type, to ID) *Message { return &Message{Head: Head{Type: kind, To: to, Credit: 99}} }

func TestTakeIsTheOppositeOfPut(t *testing.T) {
	for _, m := range []*Message{full(), answer(), word(), plain(), present(), giveUp(), stop(Stop, NameID("kv/3")), stop(Go, GroupID("all"))} {
		b := m.Append(nil)
		var got Message
		if err := got.Take(b); err != nil {
			t.Fatalf("%v: %v", m.Head.Type, err)
		}
		if got.Head != m.Head || !bytes.Equal(got.Append(nil), b) {
			t.Errorf("%v came back as %+v", m.Head.Type, got.Head)
		}
		if m.Overhead() > MaxOverhead {
			t.Errorf("%v: overhead %d is more than the most, %d", m.Head.Type, m.Overhead(), MaxOverhead)
		}
	}
}

// What one wrong byte can do (research: libRIPC's first defect was that it did not look).
func TestTakeRefuses(t *testing.T) {
	set := func(m *Message, at int, value byte) []byte {
		b := m.Append(nil)
		b[at] = value
		return b
	}
	for _, c := range []struct {
		name string
		b    []byte
		says string
	}{
		{"nothing", nil, "0 bytes"},
		{"half a head", full().Append(nil)[:HeadSize-1], "79 bytes"},
		{"another magic", set(full(), 0, 9), "begins with"},
		{"another version", set(full(), atVersion, 5), "version 5"},
		{"no type", set(full(), atType, 0), "type 0"},
		{"an unknown type", set(full(), atType, 11), "type 11"},
		{"a code in a call", set(full(), atCode+1, 1), "code 1"},
		{"an unknown code", set(answer(), atCode+1, 99), "code 99"},
		{"a refusal without code", set(answer(), atType, byte(Refusal)), "code 0"},
		{"too many items", set(full(), atItems, MaxList+1), "17 entries"},
		{"too many items, of no bytes", tooMany(), "17 entries"},
		{"one item more than there are", set(full(), atItems, 4), "bytes, but"},
		{"one loan less", set(full(), atLoans, 0), "bytes, but"},
		{"an item that is too long", set(full(), HeadSize, 1), "item 0"},
		{"items that are too short", set(full(), HeadSize+3, 2), "belong to no item"},
		{"an unknown kind", set(full(), atTo, 9), "to "},
		{"from a group", set(full(), atFrom, byte(Group)), "from group"},
		{"a call to a group", set(full(), atTo, byte(Group)), "to a group"},
		{"returns in an answer", set(full(), atType, byte(Answer)), "returns in a Answer"},
		{"fills in a call", set(answer(), atType, byte(Call)), "fills in a Call"},
		{"loans that end at once", set(answer(), atExpiry+3, 0), "for 0 ms"},
		{"patience in an answer", set(answer(), atPatience, 1), "how long it waits"},
		{"a fill out of order", set(answer(), HeadSize+spanSize+fillSize+3, 0), "fill 1"},
		{"a fill of a return that cannot be", set(answer(), HeadSize+spanSize+fillSize, 1), "fill 1"},
		{"a word to somebody", set(word(), atTo, byte(Named)), "a word"},
		{"a presentation under another name", set(present(), HeadSize+itemSize, 'x'), "whose name"},
		{"a presentation of a group", set(present(), atFrom, byte(Group)), "from group"},
		{"giving up the call of somebody", set(giveUp(), atFrom, byte(Named)), "giving up"},
		{"giving up no call", set(giveUp(), atNumber, 0), "giving up call 0"},
		{"giving up a call to a group", set(giveUp(), atTo, byte(Group)), "giving up"},
		{"giving up a call with items", set(plain(), atType, byte(GiveUp)), "giving up"},
		{"giving up with a code", set(giveUp(), atCode+1, byte(TimedOut)), "code 7"},
		{"stopping what somebody sends", set(stop(Stop, NameID("kv/3")), atFrom, byte(Named)), "a Stop for"},
		{"stopping nobody", stop(Stop, ID{}).Append(nil), "a Stop for nobody"},
		{"going on with nobody", stop(Go, ID{}).Append(nil), "a Go for nobody"},
		{"going on with items", set(plain(), atType, byte(Go)), "a Go for"},
		{"stopping with a code", set(stop(Stop, NameID("kv/3")), atCode+1, byte(Busy)), "code 3"},
		{"one byte more", append(full().Append(nil), 0), "bytes, but"},
	} {
		var m Message
		err := m.Take(c.b)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if m.Items.Len()+m.Loans.Len()+m.Releases.Len() > 0 {
			t.Errorf("%s: something is left of the message", c.name)
		}
	}
}

// The short way for plain messages lets nothing pass that the long way would find: every value of every byte of the head.
func TestNothingPassesForPlain(t *testing.T) {
	call := plain()
	call.Head.Type, call.Head.Patience = Call, 1
	for _, message := range []*Message{plain(), call} {
		for at := range HeadSize {
			for value := range 256 {
				b := message.Append(nil)
				b[at] = byte(value)
				checkPlain(t, b)
			}
		}
	}
}

// checkPlain finds a message that comes to something else by the short way than by the long one.
func checkPlain(t *testing.T, b []byte) {
	t.Helper()
	var short, long Message
	if !short.takePlain(b) {
		return
	}
	if err := long.take(b); err != nil || long.Head != short.Head || !bytes.Equal(short.Append(nil), b) {
		t.Fatalf("%x was taken for plain: %v, %+v, not %+v", b, err, short.Head, long.Head)
	}
}

func TestNoSpanReachesBeyondMemory(t *testing.T) {
	for _, s := range []Span{{1<<64 - 1, 2, 1}, {1 << 63, 1<<63 + 1, 1}, {5, 0, 1}} {
		m := full()
		m.Loans.Clear()
		m.Loans.Add(s)
		if err := new(Message).Take(m.Append(nil)); !errors.Is(err, ErrMalformed) {
			t.Errorf("loan %+v: %v", s, err)
		}
	}
}

func TestListsEnd(t *testing.T) {
	var l List[int]
	for i := range MaxList {
		if !l.Add(i) {
			t.Fatalf("no room for %d", i)
		}
	}
	if l.Add(0) || l.Len() != MaxList {
		t.Error("there was room for one more than the most")
	}
}

// Whatever comes in, it is refused, or it is exactly what Put would have made.
func FuzzTake(f *testing.F) {
	for _, m := range []*Message{full(), answer(), word(), plain(), present(), giveUp(), stop(Stop, NameID("kv/3")), stop(Go, GroupID("all"))} {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		if m.Take(b) == nil && !bytes.Equal(m.Append(nil), b) {
			t.Errorf("%x came back as %x", b, m.Append(nil))
		}
		checkPlain(t, b)
	})
}

func TestTakeAllocatesNothing(t *testing.T) {
	b := full().Append(nil)
	var m Message
	if n := testing.AllocsPerRun(100, func() { _ = m.Take(b) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestIDs(t *testing.T) {
	a, b := NameID("kv/3"), NameID("kv/4")
	if a == b || a == GroupID("kv/3") || !a.Valid() || a.Kind() != Named {
		t.Errorf("%v, %v, %v", a, b, GroupID("kv/3"))
	}
	if (ID{}).Kind() != Nobody || !(ID{}).Valid() || (ID{0, 1}).Valid() || (ID{byte(Group) + 1}).Valid() {
		t.Error("what is valid is not, or what is not is")
	}
}
