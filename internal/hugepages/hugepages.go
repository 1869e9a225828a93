// Package hugepages asks the system to put a process's memory on large pages: what is in use already, and what will be. It is for programs that jump
// about in gigabytes, such as a simulation of thousands of nodes: there finding out where a page lies takes longer than
// reading what is on it.
package hugepages

// size is that of a large page, on the processors that we know.
const size = 2 << 20

// whole cuts a range of addresses down to large pages.
func whole(from, to uintptr) (start, length uintptr) {
	start = (from + size - 1) / size * size
	if end := to / size * size; end > start {
		return start, end - start
	}
	return start, 0
}
