//go:build amd64 || arm64

package prefetch

import "unsafe"

// Memory asks for size bytes from start.
//
//go:noescape
func Memory(start unsafe.Pointer, size uintptr)
