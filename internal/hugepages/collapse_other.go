//go:build !linux

package hugepages

// Reserve does nothing: only on Linux can a process ask for it.
func Reserve(int) {}

// Collapse does nothing: only on Linux can a process ask for it.
func Collapse() {}
