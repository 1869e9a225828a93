//go:build !amd64

package tsc

import "time"

var start = time.Now()

// Read returns nanoseconds: there is no counter that all processors of this kind have.
func Read() uint64 { return uint64(time.Since(start)) }
