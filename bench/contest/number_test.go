package contest

import (
	"math"
	"testing"
)

// A miss can be seen: the digits differ from those of the bound.
func TestBeside(t *testing.T) {
	for _, c := range []struct {
		value, bound float64
		want         string
	}{
		{1.0123, 1, "1.012"}, {1.00042, 1, "1.00042"}, {0.99962, 1, "0.99962"}, {1.0064, 1.05, "1.006"}, {1.03, 0.8, "1.03"}, {0.7999, 0.8, "0.79990"}, {0.9942, 0.96, "0.994"},
		{0.07831, 0.5, "0.0783"}, {1, 1, "1"}, {0, 0, "0"}, {1e-7, 0, "1e-07"}, {129.42, 120, "129.4"}, {120.04, 120, "120.040"},
		{1002000, 1e6, "1.0020M"}, {3445142, 1, "3.45M"}, {999.7, 5, "1000"}, {12345, 5, "12345"}, {2e9, 1, "2000M"}, {9.9996, 10, "9.99960"},
		{math.Nextafter(1, 2), 1, "1.00000000000000022"}, {math.Inf(1), 1, "+InfM"}, {math.NaN(), 1, "NaN"}, {-3, 1, "-3"},
	} {
		if got := Beside(c.value, c.bound); got != c.want {
			t.Errorf("%v beside %v is %s, want %s", c.value, c.bound, got, c.want)
		}
	}
}

// A side has a digit more than a measurement, however large it is.
func TestSide(t *testing.T) {
	for v, want := range map[float64]string{0.12345: "0.1235", 999.4: "999.4", 999.7: "1000", 12345: "12345", 3445142: "3.445M", 987654321: "987.7M", 2e10: "20000M"} {
		if got := side(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

// A row has as many digits everywhere as its value, and its sides can be divided.
func TestRowShowsTheMiss(t *testing.T) {
	r := Contest{What: "w", Peer: "p", Unit: "s", Bound: 1, AtMost: true}.Judge([]Pair{{11.17, 11.29}, {11.17, 11.294}, {11.17, 11.5}})
	for i, want := range []string{"w", "1.011 ×", "1.011..1.030", "≤ 1  MISSED", "11.29 s", "11.17 s  p"} {
		if got := r.Row()[i]; got != want {
			t.Errorf("cell %d is %q, want %q", i, got, want)
		}
	}
	r = Contest{What: "w", Peer: "p", Unit: "s"}.Judge([]Pair{{11.17, 11.2224}})
	if got := r.Row()[1]; got != "1.0047 ×" {
		t.Errorf("a ratio without a bound is %s", got)
	}
}
