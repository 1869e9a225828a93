package tsc

// Read returns the counter.
func Read() uint64
