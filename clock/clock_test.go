package clock

import (
	"testing"
	"time"
)

func TestAddSaturates(t *testing.T) {
	for _, c := range []struct {
		at   Time
		add  time.Duration
		want Time
	}{
		{0, time.Second, 1e9},
		{5, -10, -5},
		{Never, time.Nanosecond, Never},
		{Never - 1, time.Hour, Never},
	} {
		if got := c.at.Add(c.add); got != c.want {
			t.Errorf("%d + %v = %d, want %d", int64(c.at), c.add, int64(got), int64(c.want))
		}
	}
}

func TestRealNeverGoesBack(t *testing.T) {
	last := Real.Now()
	for range 1000 {
		now := Real.Now()
		if now < last {
			t.Fatalf("%v came after %v", now, last)
		}
		last = now
	}
}

func TestString(t *testing.T) {
	if got := Time(1500).String(); got != "1.5µs" {
		t.Errorf("1500 ns prints as %q", got)
	}
	if got := Never.String(); got != "never" {
		t.Errorf("Never prints as %q", got)
	}
}
