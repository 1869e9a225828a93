package mesh

import (
	"bytes"
	"testing"
)

func FuzzHello(f *testing.F) {
	f.Add(hello{member: 3, members: 9, name: "name"}.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, note []byte) {
		h, err := decodeHello(note)
		if err == nil && (!bytes.Equal(h.encode(), note) || h.member >= h.members) {
			t.Errorf("%x became %+v", note, h)
		}
	})
}

func FuzzLabel(f *testing.F) {
	f.Add(label(kindStep, "step", []byte("note")))
	f.Add(label(kindRegroup, "", []byte{7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, step, note, err := parseLabel(b)
		if err == nil && !bytes.Equal(label(kind, step, note), b) {
			t.Errorf("%x became %d, %q, %x", b, kind, step, note)
		}
	})
}

func FuzzFlags(f *testing.F) {
	f.Add([]byte{5}, 3)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > MaxMembers {
			return
		}
		flags, err := decodeFlags(b, n)
		if err == nil && !bytes.Equal(encodeFlags(flags), b) {
			t.Errorf("%x became %v", b, flags)
		}
	})
}

// FuzzParcel feeds pieces of any length.
func FuzzParcel(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 'a', 'b'}, []byte{})
	f.Add([]byte{0, 1, 0, 0, 1}, []byte{0})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var p parcel
		if p.add(first) != nil {
			return
		}
		if want := first[headSize:]; !bytes.Equal(p.note, want) || p.size > MaxExchange {
			t.Errorf("%d bytes of %d", len(p.note), p.size)
		}
		if p.complete() && p.add(second) == nil && len(second) > 0 {
			t.Errorf("%d bytes too many were taken", len(second))
		}
	})
}
