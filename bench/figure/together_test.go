package figure

import (
	"slices"
	"testing"
)

// Misses with the same reason are one line, if they differ in one word; the number of those that hold counts each.
func TestMissesTogether(t *testing.T) {
	miss := func(text, measured, why string) Claim {
		return Claim{Text: text, Measured: measured, Spread: "between 1 and 2", Why: why}
	}
	f := &Figure{Name: "f", Claims: []Claim{
		miss("to 3, weft pipeline, against udpcast: ≤ 1 ×", "1.01 ×", "slow"), {Text: "fine", Holds: true},
		miss("to 3, weft circulant, against udpcast: ≤ 1 ×", "1.01 ×", "slow"), miss("to 7, weft pipeline, against udpcast: ≤ 1 ×", "1.01 ×", "slow"),
		miss("to 7, weft auto, against udpcast: ≤ 1 ×", "1.02 ×", "slow"), miss("to 3, weft tree, against udpcast: ≤ 1 ×", "1.01 ×", "busy"),
		miss("to 3, weft a, against MPI", "3", ""), miss("to 3, weft b, against MPI", "3", ""), miss("to 3", "2", "slow"), miss("to 3", "2", "slow"),
	}}
	var got []string
	for _, m := range Misses([]*Figure{f}) {
		got = append(got, m.String())
	}
	want := []string{
		"f: to 3, weft pipeline, circulant, against udpcast: ≤ 1 × – 1.01 ×. Why: slow",
		"f: to 7, weft pipeline, auto, against udpcast: ≤ 1 × – 1.01 × (pipeline), 1.02 × (auto). Why: slow",
		"f: to 3, weft tree, against udpcast: ≤ 1 × – 1.01 ×, between 1 and 2. Why: busy",
		"f: to 3, weft a, against MPI – 3, between 1 and 2. Why: not known", "f: to 3, weft b, against MPI – 3, between 1 and 2. Why: not known",
		"f: to 3 – 2, between 1 and 2. Why: slow", "f: to 3 – 2, between 1 and 2. Why: slow",
	}
	if !slices.Equal(got, want) {
		t.Errorf("missed are\n%q, want\n%q", got, want)
	}
	if got := Summary([]*Figure{f}); got != "1 of 10 claims hold." {
		t.Error(got)
	}
}
