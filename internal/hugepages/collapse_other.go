//go:build !linux

package hugepages

// Collapse does nothing: only on Linux can a process ask for it.
func Collapse() {}
