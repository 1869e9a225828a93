package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/verbs"
)

const rounds = 9

// cpuPer returns the CPU time of this thread for one of n operations, in nanoseconds: the median of several rounds.
func cpuPer(n int, work func(n int) error) (float64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := work(n/10 + 1); err != nil { // warm up
		return 0, err
	}
	var took []float64
	for range rounds {
		before := threadTime()
		if err := work(n); err != nil {
			return 0, err
		}
		took = append(took, float64(threadTime()-before)/float64(n))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// threadTime is the CPU time that this thread has used, to the nanosecond: what getrusage counts are ticks.
func threadTime() time.Duration {
	const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&t)), 0); failed != 0 {
		panic("bench verbs: clock_gettime: " + failed.Error())
	}
	return time.Duration(t.Nano())
}

func measureBaseline(scale int) ([]contest.Result, error) {
	var word atomic.Uint64
	value, err := cpuPer(scale*1_000_000, func(n int) error {
		for range n {
			word.Add(1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	line, err := peers.CacheLine(scale * 100_000)
	return []contest.Result{
		{What: "baseline: one atomic addition", Unit: "ns CPU", Value: value},
		{What: "baseline: a word from one core to the other", Unit: "µs", Value: line},
	}, err
}

func measureInProcess(scale int) (results []contest.Result, err error) {
	a, b, err := newSoftPair()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close(), b.close()) }()
	from, to := a.memory.Span(0, 8), b.memory.Remote(0, 8)
	one, err := cpuPer(scale*200_000, func(n int) error { return writeOneByOne(a, from, to, n) })
	if err != nil {
		return nil, err
	}
	list, err := cpuPer(scale*200_000, func(n int) error { return writeLists(a, from, to, n) })
	if err != nil {
		return nil, err
	}
	large, err := cpuPer(scale*200, func(n int) error {
		return writeOneByOne(a, a.memory.Span(0, 1<<20), b.memory.Remote(0, 1<<20), n)
	})
	if err != nil {
		return nil, err
	}
	plain, err := cpuPer(scale*200, func(n int) error {
		for range n {
			copy(b.memory.Bytes()[:1<<20], a.memory.Bytes()[:1<<20])
		}
		return nil
	})
	return []contest.Result{
		{What: "in-process lane, 8 B write, stage to completion", Unit: "ns CPU", Value: one, Bound: 100, AtMost: true},
		{What: "in-process lane, 8 B write, lists of 32, quiet but one", Unit: "ns CPU", Value: list},
		{What: "in-process lane, 1 MiB writes against Go's copy, speed", Unit: "×", Value: plain / large},
	}, err
}

// writeOneByOne stages, flushes and polls each write.
func writeOneByOne(e *end, from verbs.Span, to verbs.RemoteSpan, n int) error {
	var got [4]verbs.Completion
	for range n {
		if err := e.pairs[0].Write(1, from, to, 0); err != nil {
			return err
		}
		for {
			k, err := e.queue.Poll(got[:])
			if err != nil {
				return err
			}
			if k == 1 {
				break
			}
		}
		if got[0].Status != verbs.OK {
			return fmt.Errorf("a write ended as %v", got[0].Status)
		}
	}
	return nil
}

func writeLists(e *end, from verbs.Span, to verbs.RemoteSpan, n int) error {
	var got [4]verbs.Completion
	for range (n + 31) / 32 {
		for i := range 32 {
			flags := verbs.Quiet
			if i == 31 {
				flags = 0
			}
			if err := e.pairs[0].Write(1, from, to, flags); err != nil {
				return err
			}
		}
		for k := 0; k == 0; {
			var err error
			if k, err = e.queue.Poll(got[:]); err != nil {
				return err
			}
		}
	}
	return nil
}
