package cursor

import (
	"bytes"
	"testing"
)

func TestFieldsInOrder(t *testing.T) {
	c := New([]byte{1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 2, 'h', 'i', 0, 0, 0, 2, 5, 6, 7})
	if a, b, d, e := c.Uint8("a"), c.Uint16("b"), c.Uint32("c"), c.Uint64("d"); a != 1 || b != 2 || d != 3 || e != 4 {
		t.Errorf("read %d, %d, %d, %d", a, b, d, e)
	}
	if text := c.Text("text"); text != "hi" {
		t.Errorf("read %q", text)
	}
	if two := c.Take("two", c.Count("bytes", 2, 1)); !bytes.Equal(two, []byte{5, 6}) {
		t.Errorf("took %v", two)
	}
	if rest := c.Rest(); !bytes.Equal(rest, []byte{7}) || c.End() != nil {
		t.Errorf("the rest is %v, %v", rest, c.End())
	}
}

// Only the first thing that is wrong is told, and what follows is zero.
func TestWhatIsWrong(t *testing.T) {
	for want, read := range map[string]func(*Cursor){
		"a word needs 8 bytes, but 6 are left":        func(c *Cursor) { c.Uint64("a word") },
		"2 cats, allowed are 1":                       func(c *Cursor) { c.Count("cats", 1, 1) },
		"2 cats announced, but only 2 bytes are left": func(c *Cursor) { c.Count("cats", 9, 2) },
		"6 bytes too many":                            func(*Cursor) {},
		"nothing fits":                                func(c *Cursor) { c.Fail("nothing %s", "fits") },
	} {
		c := New([]byte{0, 0, 0, 2, 1, 1})
		read(c)
		if want != "6 bytes too many" && (c.Err() == nil || c.Uint8("more") != 0 || c.Rest() != nil || c.Count("more", 1, 1) != 0) {
			t.Errorf("%s: it went on after %v", want, c.Err())
		}
		if err := c.End(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestUvarint(t *testing.T) {
	c := New([]byte{5, 0x80, 1, 0})
	if a, b, d := c.Uvarint("a"), c.Uvarint("b"), c.Left(); a != 5 || b != 128 || d != 1 || c.Uvarint("zero") != 0 || c.End() != nil {
		t.Errorf("read %d, %d, left %d, %v", a, b, d, c.Err())
	}
	for want, bad := range map[string][]byte{
		"n is cut off":                           {0x80},
		"n is not a number in its shortest form": {0x80, 0},
	} {
		c := New(bad)
		if n := c.Uvarint("n"); n != 0 || c.Err() == nil || c.Err().Error() != want || c.Left() != 0 {
			t.Errorf("%x is %d, %v", bad, n, c.Err())
		}
	}
	over := New([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02})
	if over.Uvarint("n"); over.Err() == nil {
		t.Error("a number of 65 bits is read")
	}
}

func FuzzCursor(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 2}, 3)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		c := New(b)
		read := 4 + len(c.Take("things", 2*c.Count("things", n, 2))) + len(c.Rest())
		if c.End() == nil && read != len(b) {
			t.Errorf("read %d of %d bytes", read, len(b))
		}
	})
}
