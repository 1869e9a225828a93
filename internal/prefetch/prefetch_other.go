//go:build !amd64 && !arm64

package prefetch

import "unsafe"

// Memory does nothing: there is no assembly for this processor.
func Memory(unsafe.Pointer, uintptr) {}
