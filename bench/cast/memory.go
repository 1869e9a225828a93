package cast

import (
	"bufio"
	"fmt"
	"os"
	"runtime/metrics"

	"github.com/weft-fabric/weft/internal/units"
)

// FreeMemory is how many bytes of memory this host can still give, or 0 if nobody knows.
func FreeMemory() uint64 {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }() // it was only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kilobytes uint64
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}

// enoughMemory says early what would otherwise end with the kernel killing something.
func enoughMemory(job *Job) error {
	const buffers = 8 // of a block each, of both groups
	need := job.Size + buffers*uint64(job.Block)
	if free := FreeMemory(); free > 0 && need > free {
		return fmt.Errorf("a message of %v in blocks of %v does not fit: %v of memory are free here", units.Size(job.Size),
			units.Size(job.Block), units.Size(free>>20<<20))
	}
	return nil
}

// usedMemory is what Go has of the system, in bytes: nearly all that this process has.
func usedMemory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}
