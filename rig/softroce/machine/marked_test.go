package machine

import (
	"bytes"
	"errors"
	"testing"
)

func TestStatusBehindMark(t *testing.T) {
	for text, want := range map[string]outcome{
		" 0\n":    {0, nil},
		" 255\n":  {255, nil},
		" 256\n":  {0, errNoStatus},
		" -1\n":   {0, errNoStatus},
		"\n":      {0, errNoStatus},
		" 1x\n":   {0, errNoStatus},
		" 123456": {0, errNoStatus},
	} {
		m := marked{to: &bytes.Buffer{}, mark: []byte("MARK")}
		m.Write([]byte("MARK" + text))
		if status, whole, err := m.status(); !whole || status != want.status || !errors.Is(err, want.err) {
			t.Errorf("%q: %d, %v, %v", text, status, whole, err)
		}
	}
}

// FuzzMarked cuts a stream in pieces: whatever they are, all in front of the mark comes out, and nothing else.
func FuzzMarked(f *testing.F) {
	f.Add([]byte("text ababc"), []byte(" 12\nmore"), uint8(1))
	f.Add([]byte("ab"), []byte(""), uint8(3))
	f.Fuzz(func(t *testing.T, before, behind []byte, size uint8) {
		mark := []byte("ababX")
		if bytes.Contains(append(bytes.Clone(before), mark[:len(mark)-1]...), mark) {
			return
		}
		var out bytes.Buffer
		m := marked{to: &out, mark: mark}
		text := bytes.Join([][]byte{before, mark, behind}, nil)
		for len(text) > 0 {
			n := min(len(text), int(size)+1)
			if written, err := m.Write(text[:n]); written != n || err != nil {
				t.Fatal(written, err)
			}
			text = text[n:]
		}
		if !bytes.Equal(out.Bytes(), before) {
			t.Errorf("%q came out, not %q", out.Bytes(), before)
		}
		if status, _, err := m.status(); status < 0 || status > 255 || err != nil && status != 0 {
			t.Errorf("status %d, %v", status, err)
		}
	})
}

func TestNothingIsHeldBack(t *testing.T) {
	var out bytes.Buffer
	m := marked{to: &out, mark: []byte("MARK")}
	m.Write([]byte("a prompt? MA"))
	if out.String() != "a prompt? " {
		t.Errorf("%q came out", out.String())
	}
	m.Write([]byte("y"))
	if out.String() != "a prompt? MAy" {
		t.Errorf("%q came out", out.String())
	}
}

// FuzzNumbered loses nothing, and puts the number in front of each line.
func FuzzNumbered(f *testing.F) {
	f.Add([]byte("a\n\nb"), 1)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		cut = max(0, min(cut, len(text)))
		var out bytes.Buffer
		n := &numbered{to: &out, number: 2}
		n.Write(text[:cut])
		n.Write(text[cut:])
		n.flush()
		want := bytes.Clone(text)
		if len(want) > 0 && want[len(want)-1] != '\n' {
			want = append(want, '\n')
		}
		var plain []byte
		for line := range bytes.Lines(out.Bytes()) {
			plain = append(plain, bytes.TrimPrefix(line, []byte("2| "))...)
		}
		if len(text) < maxLine && !bytes.Equal(plain, want) {
			t.Errorf("%q became %q", text, out.Bytes())
		}
	})
}
