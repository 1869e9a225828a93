package multicast

import (
	"fmt"
	"runtime"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Messages of two lengths: what the longer one allocates more is its blocks', and not the message's.
const (
	shortBlocks = 1_000
	longBlocks  = 11_000
)

// allocationTime is what counting is thought to take.
const allocationTime = 5 * time.Second

// allocationStep counts what a group allocates for a block, at all its members together.
func allocationStep() planned {
	count := func() (rows []contest.Result, err error) {
		for _, a := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
			r := contest.Result{What: fmt.Sprintf("allocations per block, %v to 7 receivers", a), AtMost: true}
			if r.Value, err = allocations(a); err != nil {
				r.Failed = err.Error()
			}
			rows = append(rows, r)
		}
		return rows, nil
	}
	return planned{contest.Step{Name: "allocations per block", Run: count}, allocationTime}
}

// allocations is per block and group. Whatever else the runtime allocates now and then is far below one in a hundred blocks.
func allocations(a schedule.Algorithm) (perBlock float64, err error) {
	c, err := newCluster(a)
	if err != nil {
		return 0, err
	}
	defer c.close()
	sent := func(blocks int) (uint64, error) {
		before := mallocs()
		err := c.send(blocks)
		return mallocs() - before, err
	}
	if _, err := sent(longBlocks); err != nil { // warms up
		return 0, err
	}
	short, err := sent(shortBlocks)
	if err != nil {
		return 0, err
	}
	long, err := sent(longBlocks)
	more := float64(long) - float64(short)
	return max(0, float64(int(100*more/(longBlocks-shortBlocks)))/100), err
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
