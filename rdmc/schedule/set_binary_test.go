package schedule

import (
	"bytes"
	"encoding"
	"strings"
	"testing"
)

var _ encoding.BinaryAppender = Set{}

func TestSetBinary(t *testing.T) {
	for _, s := range someSets() {
		prefix := []byte("prefix")
		data, err := s.AppendBinary(prefix)
		if err != nil || !bytes.HasPrefix(data, prefix) {
			t.Fatal(err, data)
		}
		data = data[len(prefix):]
		if len(data) > bitmapLen(s.Len())+4 {
			t.Errorf("%d bytes for %d blocks", len(data), s.Len())
		}
		got, err := ParseSet(data, s.Len())
		if err != nil || !got.Equal(s) {
			t.Errorf("%d of %d blocks: %v, got %v", s.Count(), s.Len(), err, got)
		}
		if _, err := ParseSet(data, s.Len()-1); s.Len() > 0 && (err == nil || !strings.Contains(err.Error(), "at most")) {
			t.Errorf("a set of %d blocks where one less is expected: %v", s.Len(), err)
		}
	}
}

func TestSetBinaryIsCompact(t *testing.T) {
	s := FullSet(1 << 20)
	prefix := NewSet(1 << 20)
	prefix.addRun(0, 777_777)
	for _, s := range []Set{s, prefix, NewSet(1 << 20)} {
		if data, _ := s.AppendBinary(nil); len(data) > 11 {
			t.Errorf("%d of %d blocks take %d bytes", s.Count(), s.Len(), len(data))
		}
	}
}

func TestParseSetRefuses(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"nothing":            {"", "cut off"},
		"only a kind":        {"\x00", "cut off"},
		"unknown kind":       {"\x02\x08\x08", "no kind 2"},
		"too many blocks":    {"\x00\x65\x65", "101 blocks, where at most 100"},
		"endless number":     {"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "cut off"},
		"huge number":        {"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "18446744073709551615 blocks"},
		"runs end early":     {"\x00\x08\x03\x04", "cut off"},
		"runs go on":         {"\x00\x08\x08\x01", "more bytes"},
		"run too long":       {"\x00\x08\x03\x06", "more bytes or blocks"},
		"run of nothing":     {"\x00\x08\x03\x00\x05", "not the one"},
		"padded number":      {"\x00\x08\x88\x00", "not the one"},
		"bitmap too short":   {"\x01\x10\x55", "cut off"},
		"bitmap too long":    {"\x01\x08\x55\x55", "more bytes"},
		"bits beyond":        {"\x01\x07\xd5", "more bytes or blocks"},
		"bitmap for one run": {"\x01\x08\x00", "not the one"},
		"runs for a bitmap":  {"\x00\x08\x00\x01\x01\x01\x01\x01\x01\x01\x01", "not the one"},
	} {
		if _, err := ParseSet([]byte(c.data), 100); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParseSetAllocates: what is refused for its runs has allocated nothing, however many blocks it claims.
func TestParseSetAllocates(t *testing.T) {
	lie := []byte{0, 0x80, 0x80, 0x80, 0x80, 0x04, 5} // 2^30 blocks, of which the first run has 5
	if n := testing.AllocsPerRun(10, func() { _, _ = ParseSet(lie, 1<<30) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseSet(f *testing.F) {
	for _, s := range someSets() {
		data, _ := s.AppendBinary(nil)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1 << 16
		s, err := ParseSet(data, most)
		if err != nil {
			return
		}
		if s.Len() > most || s.Count() > s.Len() || len(s.words) != (s.Len()+63)/64 {
			t.Fatalf("%d of %d blocks, %d words", s.Count(), s.Len(), len(s.words))
		}
		if again, _ := s.AppendBinary(nil); !bytes.Equal(again, data) {
			t.Fatalf("%x is decoded, but encoded as %x", data, again)
		}
		for block := range s.All() {
			if block >= s.Len() || !s.Has(block) {
				t.Fatalf("block %d of %d", block, s.Len())
			}
		}
	})
}
