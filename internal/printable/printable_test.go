package printable

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckAndClean(t *testing.T) {
	for text, clean := range map[string]string{
		"":                 "",
		"warp, weft":       "warp, weft",
		"\x1b[2Jgone":      " [2Jgone",
		"two\nlines":       "two lines",
		"ab\xff\xfec":      "ab?c",
		"ten bytes and":    "ten bytes ",
		"nine byteöö":      "nine byte",
		"12345678\xff\xfe": "12345678?",
	} {
		if got := Clean(text, 10); got != clean {
			t.Errorf("%q became %q, want %q", text, got, clean)
		}
		if err := Check("it", text, 10); (err == nil) != (text == clean) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("warp \x00 weft", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(limit, 0)
		if err := Check("it", Clean(text, limit), limit); err != nil {
			t.Error(err)
		}
	})
}

func TestCapital(t *testing.T) {
	for text, want := range map[string]string{"": "", "rack-chain: 8": "Rack-chain: 8", "öl": "Öl", "8 MB": "8 MB", "Fig": "Fig"} {
		if got := Capital(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string][]string{
		"":                    nil,
		"  warp   and  weft ": {"warp and", "weft"},
		"exactly10c":          {"exactly10c"},
		"a exactly10c b":      {"a", "exactly10c", "b"},
		"unbreakable words":   {"unbreakabl", "e words"},
		"öööööööööö ö":        {"öööööööööö", "ö"},
	} {
		if got := Wrap(text, 10); !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// FuzzWrap: no word is lost, and no line is too long.
func FuzzWrap(f *testing.F) {
	f.Add("warp and weft make cloth", 7)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		columns = 1 + (columns & 0x7f)
		text = strings.ToValidUTF8(text, "?")
		lines := Wrap(text, columns)
		if got := strings.Join(lines, ""); strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(text), "") {
			t.Errorf("%q in %d columns became %q", text, columns, lines)
		}
		for _, line := range lines {
			if len([]rune(line)) > columns {
				t.Errorf("%q has more than %d runes", line, columns)
			}
		}
	})
}
