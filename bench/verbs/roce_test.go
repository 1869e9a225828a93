package main

import "testing"

func TestPerfResult(t *testing.T) {
	for _, c := range []struct {
		text string
		fine bool
	}{
		{`{"provider":"ibv","results":[{"operation":"write","measure":"latency","size_bytes":8,"latency_us":{"p50":12}}]}`, true},
		{`{"provider":"tcp","results":[{"operation":"write","measure":"latency","size_bytes":8,"latency_us":{"p50":12}}]}`, false},
		{`{"provider":"ibv","results":[{"operation":"write","measure":"latency","size_bytes":8,"latency_us":{"p50":12},"partial":true}]}`, false},
		{`{"provider":"ibv","results":[{"operation":"write","measure":"latency","size_bytes":8}]}`, false},
		{`{"provider":"ibv","results":[]}`, false},
		{"", false},
	} {
		if r, err := perfResult([]byte(c.text)); (err == nil) != c.fine {
			t.Errorf("%s: %+v, %v", c.text, r, err)
		}
	}
}

func TestRoceNeedsADevice(t *testing.T) {
	t.Setenv("WEFT_ROCE", "")
	if _, err := parse([]string{"-roce", "weft"}); err == nil {
		t.Error("it measures without a device")
	}
	t.Setenv("WEFT_ROCE", "rxe0")
	o, err := parse([]string{"-roce", "weft"})
	if err != nil || len(steps(o)) != len(roceContests("weft", 1)) {
		t.Errorf("%+v, %v", o, err)
	}
}
