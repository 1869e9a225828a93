package hugepages

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]bool{
		"b0480800000-b0499400000 rw-p 00000000 00:00 0 ":                     true,
		"b0480800000-b0499400000 rw-p 00000000 00:00 0     [anon: Go: heap]": true,
		"00783000-007ae000 rw-p 00383000 fe:00 10013313     /tmp/weft":       false,
		"7ffc42391000-7ffc423b2000 rw-p 00000000 00:00 0    [stack]":         false,
		"7f5d0e80d000-7f5d0f00d000 ---p 00000000 00:00 0 ":                   false,
		"7f5d0e80d000-7f5d0f00d000 rw-s 00000000 00:01 0 ":                   false,
		"": false, "x": false, "5-3 rw-p 00000000 00:00 0 ": false,
	} {
		if from, to, ok := parse(line); ok != want || ok && (from != 0xb0480800000 || to != 0xb0499400000) {
			t.Errorf("%q: %#x to %#x, %v", line, from, to, ok)
		}
	}
}

// What is in memory stays there.
func TestCollapse(t *testing.T) {
	b := make([]byte, 8*size)
	for i := range b {
		b[i] = byte(i * 7)
	}
	Collapse()
	for i := range b {
		if b[i] != byte(i*7) {
			t.Fatalf("byte %d is %d", i, b[i])
		}
	}
}

// What is reserved is not held, and will be on large pages: its mapping has the flag "hg".
func TestReserve(t *testing.T) {
	const bytes = 256 << 20
	held := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased
	}
	before := held()
	Reserve(bytes)
	if after := held(); after > before+bytes/2 {
		t.Errorf("%d bytes are held, %d before", after, before)
	}
	_, none := os.Stat("/sys/kernel/mm/transparent_hugepage") // a kernel may be built without
	maps, err := os.ReadFile("/proc/self/smaps")
	if none == nil && !strings.Contains(string(maps), " hg ") {
		t.Errorf("no mapping is to have large pages, %v", err)
	}
}
