package rdmc

import (
	"testing"
	"unsafe"
)

// What each block touches of a link is within one line of a processor's cache, however many links there are.
func TestLinkLayout(t *testing.T) {
	const line = 64
	for _, n := range []int{1, 3, 28} {
		for i, links := 0, make([]link, n); i < n; i++ {
			start, hot := uintptr(unsafe.Pointer(&links[i])), unsafe.Offsetof(links[i].rank)
			if start%line+hot > line {
				t.Errorf("link %d of %d begins %d bytes behind that of a line, and has %d hot ones", i, n, start%line, hot)
			}
		}
	}
}
