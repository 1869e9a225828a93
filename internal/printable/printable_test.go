package printable

import (
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
