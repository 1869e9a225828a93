package rdmc

import (
	"testing"
	"unsafe"
)

// What each block touches of a link is one line of a processor's cache.
func TestLinkLayout(t *testing.T) {
	const line = 64
	var l link
	if hot, size := unsafe.Offsetof(l.told), unsafe.Sizeof(l); hot != line || size%line != 0 {
		t.Errorf("a link is %d bytes, the first %d of them hot; want %d, and whole lines", size, hot, line)
	}
}
