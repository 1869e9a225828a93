package perftest

import (
	"math"
	"testing"
)

func near(got, want float64) bool { return math.Abs(got-want) <= want/500 }

// The numbers of a known distribution: 1,000 samples of 1 to 1,000 µs.
func TestSpread(t *testing.T) {
	h := NewHistogram()
	for i := int64(1); i <= 1000; i++ {
		if err := h.RecordValue(i * 1000); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		operation Operation
		batch     int
		parts     float64
		kind      string
	}{
		{Read, 1, 1, "post to completion"}, {Write, 1, 2, "half round trip"}, {Send, 4, 8, "half round trip"}, {FetchAdd, 10, 10, "post to completion"},
	} {
		s := NewSpread(h, Run{Operation: c.operation}, c.batch)
		if !near(s.P50, 500/c.parts) || !near(s.P99, 990/c.parts) || !near(s.P999, 999/c.parts) || !near(s.Max, 1000/c.parts) ||
			!near(s.Mean, 500.5/c.parts) || s.Kind != c.kind || s.Batch != c.batch {
			t.Errorf("%v, batch %d: %+v", c.operation, c.batch, s)
		}
	}
}

// Threads may have chosen different batches: a sample of the smaller is brought to the larger.
func TestMerge(t *testing.T) {
	tallies := newTallies(2, Run{Measure: Latency})
	tallies[0].batch, tallies[1].batch = 1, 4
	for range 100 {
		tallies[0].histogram.RecordValue(1000)     // one message of 1 µs
		tallies[1].histogram.RecordValue(4 * 3000) // four of 3 µs
	}
	h, batch := merge(tallies)
	s := NewSpread(h, Run{Operation: Read}, batch)
	if batch != 4 || h.TotalCount() != 200 || !near(s.P50, 1) || !near(s.P99, 3) || !near(s.Mean, 2) {
		t.Errorf("batch %d, %d samples, %+v", batch, h.TotalCount(), s)
	}
}

func TestRate(t *testing.T) {
	r := rate(Run{Size: 1000}, 3_000_000, 2)
	if r.GigabytesPerSecond != 1.5 || r.MessagesPerSecond != 1.5e6 {
		t.Errorf("%+v", r)
	}
}

func TestCompareFindsEveryWrongByte(t *testing.T) {
	for size := range 40 {
		b := make([]byte, size)
		fill(b, 7)
		if err := compare(b, 7); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		for i := range b {
			b[i] ^= 1
			if compare(b, 7) == nil {
				t.Errorf("byte %d of %d is wrong, and nobody sees it", i, size)
			}
			b[i] ^= 1
		}
	}
	if seed(0, 1) == seed(1, 0) {
		t.Error("another pair of another run has the same bytes")
	}
}
