package units

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"8": 8, "8B": 8, "1KiB": 1024, "1kib": 1024, "256MB": 256e6, "1 MiB": 1 << 20, "1.5MiB": 3 << 19, "2GiB": 2 << 30,
		"1.5kB": 1500, "0": 0, "3TiB": 3 << 40, "0.25KiB": 256,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "B", "3XB", "-1", "+1", "1e3", "1.", ".5", "1.0000000", "1.5", "0.1B", "9223372036854775808",
		"9223372036854775807KiB", "1 000", "1K", "KiB", "1KiBB", "0x10", "1..2", "٣"} {
		if got, err := ParseSize(text); !errors.Is(err, ErrSize) {
			t.Errorf("ParseSize(%q) = %d, %v; want an error", text, got, err)
		}
	}
}

func TestParseSizes(t *testing.T) {
	for text, want := range map[string][]Size{
		"8":            {8},
		"8,4KiB":       {8, 4096},
		"1KiB..4KiB":   {1024, 2048, 4096},
		"1..8, 1 MiB":  {1, 2, 4, 8, 1 << 20},
		"3..10":        {3, 6, 10},
		"64MiB..64MiB": {64 << 20},
		"4611686018427387904..9223372036854775807": {1 << 62, math.MaxInt64},
	} {
		if got, err := ParseSizes(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("ParseSizes(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, says := range map[string]string{"": "write it as", ",": "write it as", "8,": "write it as", "8..": "write it as",
		"..8": "write it as", "1..2..3": "write it as", "0": "sizes begin at 1", "0..8": "sizes begin at 1", "8..4": "upwards: write 4..8"} {
		if got, err := ParseSizes(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseSizes(%q) = %v, %v; want an error with %q", text, got, err, says)
		}
	}
}

func TestSizeString(t *testing.T) {
	for size, want := range map[Size]string{0: "0 B", 1: "1 B", 8: "8 B", 1000: "1 kB", 1024: "1 KiB", 1536: "1536 B", 3 << 20: "3 MiB",
		256e6: "256 MB", 64 << 20: "64 MiB", -5: "-5 B"} {
		if got := size.String(); got != want {
			t.Errorf("%d prints as %q, want %q", int64(size), got, want)
		}
	}
}

func TestDigits(t *testing.T) {
	for _, c := range []struct {
		value float64
		want  string
	}{
		{0, "0"}, {1e-9, "0"}, {0.1874, "0.187"}, {0.01, "0.0100"}, {1, "1.00"}, {9.999, "10.0"}, {12.449, "12.4"}, {99.96, "100"},
		{1234, "1230"}, {1e6, "1000000"}, {-2.5, "-2.50"}, {math.Inf(1), "–"}, {math.NaN(), "–"},
	} {
		if got := Digits(c.value); got != c.want {
			t.Errorf("Digits(%v) = %q, want %q", c.value, got, c.want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 3149946: "3.15 MB", 20 << 30: "21.5 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// FuzzParseSize: whatever is read is printed so that it reads the same.
func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"8", "1KiB", "1.5MiB", "256 MB", "9223372036854775807", "3XB", "1..8"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := ParseSize(text)
		if err != nil {
			return
		}
		if size < 0 {
			t.Fatalf("%q is %d", text, size)
		}
		if again, err := ParseSize(size.String()); err != nil || again != size {
			t.Fatalf("%q is %d, which prints as %q and reads as %d, %v", text, size, size, again, err)
		}
	})
}

// FuzzParseSizes: a list is never longer than its text allows, and only of sizes that go upwards within a range.
func FuzzParseSizes(f *testing.F) {
	for _, text := range []string{"8,4KiB", "1..64MiB", "1..9223372036854775807", "8,,", "1..2..3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sizes, err := ParseSizes(text)
		if err == nil && (len(sizes) == 0 || len(sizes) > 64*len(text)) {
			t.Fatalf("%q is %d sizes", text, len(sizes))
		}
		for _, s := range sizes {
			if s < 1 {
				t.Fatalf("%q has a size of %d", text, s)
			}
		}
	})
}

func TestSeconds(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0", 8.81e-7: "881 ns", 1.135e-6: "1.14 µs", 0.0124: "12.4 ms", 1230: "1230 s"} {
		if got := Seconds(seconds); got != want {
			t.Errorf("%v: %q; want %q", seconds, got, want)
		}
	}
}
