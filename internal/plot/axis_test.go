package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// What stands at an axis of 500 pixels for some values, and its label.
func TestAxes(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   string
	}{
		{Axis{Label: "members"}, []float64{2, 16}, "members: 0 5 10 15 20"},
		{Axis{Label: "time", Unit: "s"}, []float64{0.0565, 0.0573}, "time, ms: 0 20 40 60"},
		{Axis{Label: "time", Unit: "s"}, []float64{2.5e-6}, "time, µs: 0 0.5 1 1.5 2 2.5"},
		{Axis{Label: "rate", Unit: "bits/s"}, []float64{38e9}, "rate, Gbit/s: 0 10 20 30 40"},
		{Axis{Label: "rate", Unit: "bytes/s"}, []float64{1.2e6}, "rate, MB/s: 0 0.5 1 1.5"},
		{Axis{Label: "size", Unit: "bytes"}, []float64{256e6}, "size, MB: 0 100 200 300"},
		{Axis{Label: "size", Unit: "bytes"}, []float64{256 << 20}, "size, MiB: 0 64 128 192 256"},
		{Axis{Label: "times", Unit: "ratio"}, []float64{0.98, 1.04}, "times: 0 0.5 1 1.5"},
		{Axis{Label: "messages a second"}, []float64{3.1e6}, "messages a second, million: 0 1 2 3 4"},
		{Axis{Label: "CPU", Unit: "%"}, []float64{87}, "CPU, %: 0 20 40 60 80 100"},
		{Axis{Label: "change"}, []float64{-3, 4}, "change: -4 -2 0 2 4"},
		{Axis{Label: "nothing"}, []float64{0}, "nothing: 0 0.2 0.4 0.6 0.8 1"},
		{Axis{Label: "members", Log: true}, []float64{2, 512}, "members: 2 4 8 16 32 64 128 256 512"},
		{Axis{Label: "members", Log: true}, []float64{2, 1 << 16}, "members: 4 16 64 256 1024 4096 16\u202f384 65\u202f536"},
		{Axis{Label: "members", Log: true}, []float64{3, 1000}, "members: 5 10 20 50 100 200 500 1000"},
		{Axis{Label: "block", Log: true, Unit: "bytes"}, []float64{16 << 10, 16 << 20}, "block: 16 KiB 64 KiB 256 KiB 1 MiB 4 MiB 16 MiB"},
		{Axis{Label: "block", Log: true, Unit: "bytes"}, []float64{1e4, 1e7}, "block: 10 kB 100 kB 1 MB 10 MB"},
		{Axis{Label: "time", Log: true, Unit: "s"}, []float64{1e-7, 20}, "time: 100 ns 1 µs 10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s"},
		{Axis{Label: "time", Log: true, Unit: "s"}, []float64{0.0565, 0.0573}, "time: 40 ms 60 ms 80 ms 100 ms"},
	} {
		a := newAxis(c.axis, c.values)
		got := a.name() + ":"
		for _, v := range a.ticks {
			got += " " + a.tick(v)
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
		a.from, a.to = 0, 500
		for _, v := range append(c.values, a.ticks...) {
			if at := a.at(v); at < -0.01 || at > 500.01 {
				t.Errorf("%v: %v is at %v", c.values, v, at)
			}
		}
	}
}

// The axis to the right ends where the values do, and has no tick behind that.
func TestCutOff(t *testing.T) {
	values := []float64{2, 16}
	a := newAxis(Axis{}, values)
	a.cutOff(values)
	if got := fmt.Sprint(a.ticks); got != "[0 5 10 15]" || a.hi < 16 || a.hi > 17 {
		t.Errorf("%s up to %v", got, a.hi)
	}
}

// A sweep's own values stand at the axis, unless they are too close.
func TestTicksAtValues(t *testing.T) {
	var many []float64
	for v := range 101 {
		many = append(many, float64(v))
	}
	for want, values := range map[string][]float64{
		"[3 7 15]": {3, 15, 7, 3}, "[0 50 100 150]": {3, 4, 150}, "[0 2 4 6 8 10]": {10}, "[0 20 40 60 80 100]": many,
	} {
		a := newAxis(Axis{}, values)
		a.from, a.to = 0, 300
		a.standAt(values)
		if got := fmt.Sprint(a.ticks); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}

func TestWorded(t *testing.T) {
	for _, c := range []struct {
		unit  string
		value float64
		want  string
	}{
		{"", 511, "511"}, {"", 12345, "12\u202f345"}, {"", -123456, "-123\u202f456"}, {"", 123456789, "123 million"}, {"", 999999, "999\u202f999"}, {"", 1.5e6, "1.5 million"}, {"", 0.123456, "0.123"}, {"s", 0, "0"}, {"s", 0.05651, "56.5 ms"}, {"s", 27, "27 s"},
		{"bytes", 256e6, "256 MB"}, {"bytes", 1 << 20, "1 MiB"}, {"bits/s", 39.87654e9, "39.9 Gbit/s"}, {"ratio", 1.014, "1.01 ×"}, {"%", 10, "10 %"},
		{"s", -0.5, "-500 ms"}, {"s", 1e-12, "0.001 ns"},
	} {
		if got := worded(scalesOf(c.unit, []float64{c.value}), c.value, 3); got != c.want {
			t.Errorf("%v %s is %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

// Labels do not cover each other, stay near their lines, and keep their order.
func TestLabelsSpread(t *testing.T) {
	for _, ends := range [][]float64{{100}, {100, 100, 100}, {100, 101, 250, 420, 420, 419}, {420, 420}, make([]float64, 30)} {
		var labels []*label
		for i, end := range ends {
			labels = append(labels, &label{series: i, end: end, lines: []string{"one", "two"}[:1+i%2]})
		}
		bottom := spread(labels, 100)
		last := math.Inf(-1)
		for _, l := range labels {
			if l.y < last || l.y < 100 {
				t.Errorf("%v: a label at %v, the one above ends at %v", ends, l.y, last)
			}
			last = l.y + lineHeight*float64(len(l.lines))
		}
		if fits := len(ends) < 10; last != bottom || fits && last > 100+chartHeight+lineHeight {
			t.Errorf("%v: they end at %v, and %v is said", ends, last, bottom)
		}
		if len(ends) == 1 && labels[0].y != 100 {
			t.Errorf("the only label is at %v", labels[0].y)
		}
	}
}

// Series beyond the colours have the same colour and another marker.
func TestMarkersDiffer(t *testing.T) {
	seen := map[string]int{}
	for i := range MaxSeries {
		c := &canvas{}
		c.mark(i, 0, 0)
		key := colour(i) + c.body.String()
		if before, found := seen[key]; found {
			t.Errorf("series %d looks as %d", i, before)
		}
		seen[key] = i
	}
}

// A hue that was asked for is given, once; the others take what is free, in their order.
func TestHues(t *testing.T) {
	for _, c := range []struct{ asked, got []int }{
		{[]int{0, 0, 0}, []int{0, 1, 2}}, {[]int{0, 1, 3, 0}, []int{1, 0, 2, 3}}, {[]int{2, 2, 0}, []int{1, 0, 2}},
		{[]int{8, 7, 6, 5, 4, 3, 2, 1, 0, 0}, []int{7, 6, 5, 4, 3, 2, 1, 0, 8, 9}},
	} {
		chart := &Chart{}
		for _, hue := range c.asked {
			chart.Series = append(chart.Series, Series{Hue: hue})
		}
		if got := chart.hues(); !slices.Equal(got, c.got) {
			t.Errorf("%v: %v, want %v", c.asked, got, c.got)
		}
	}
}

// A line with many points has few markers, and one in the legend.
func TestManyPoints(t *testing.T) {
	c := &Chart{Series: []Series{{Name: "long", Points: make([]Point, 1000)}}}
	for i := range c.Series[0].Points {
		c.Series[0].Points[i] = Point{float64(i), math.Sin(float64(i) / 100)}
	}
	if text := drawn(t, c); strings.Count(text, `class="mark"`) != 1+12 || strings.Count(text, "L") < 999 {
		t.Errorf("%d markers", strings.Count(text, `class="mark"`))
	}
}
