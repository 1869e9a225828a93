package units

import (
	"errors"
	"math"
	"testing"
)

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  Rate
		shown string
	}{
		{"40gbit", 40e9, "40 Gbit/s"}, {"200 Mbit/s", 200e6, "200 Mbit/s"}, {"2.5Gbit", 2.5e9, "2.5 Gbit/s"},
		{"1kbit", 1e3, "1 kbit/s"}, {"0.5kbit", 500, "0.5 kbit/s"}, {"1000tbit", 1e15, "1000 Tbit/s"},
	} {
		got, err := ParseRate(c.text)
		if err != nil || got != c.want || got.String() != c.shown {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.shown)
		}
	}
	for _, text := range []string{"", "40", "gbit", "-1gbit", "0gbit", "nangbit", "infgbit", "1e9gbit", "40gb", "1gbit/s/s"} {
		if got, err := ParseRate(text); !errors.Is(err, ErrRate) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// FuzzParseRate: whatever is read is printed so that it reads the same, but for rounding.
func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"40gbit", "200 Mbit/s", "0.5kbit", "1e3mbit", "nan kbit"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rate, err := ParseRate(text)
		if err != nil {
			return
		}
		if again, err := ParseRate(rate.String()); err != nil || math.Abs(float64(again/rate)-1) > 1e-9 {
			t.Fatalf("%q is %v, which reads as %v, %v", text, rate, again, err)
		}
	})
}
