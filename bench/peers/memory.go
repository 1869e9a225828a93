package peers

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/bench/pinned"
)

// Copy measures Go's copy on one core, in bytes a second: size bytes from one memfd to another, both mapped shared and
// touched before, the same two every time.
func Copy(size, count int) (float64, error) {
	var took time.Duration
	err := pinned.One("copy", func(p *pinned.Process) error {
		return errors.Join(p.Send(order{Size: size, Count: count, Warm: count/10 + 1}), p.Receive(&took))
	})
	return float64(size) * float64(count) / took.Seconds(), err
}

func playCopy(parent *pinned.Line) error {
	var o order
	if err := parent.Receive(&o); err != nil {
		return err
	}
	from, err := sharedMemory(o.Size)
	if err != nil {
		return err
	}
	to, err := sharedMemory(o.Size)
	if err != nil {
		return err
	}
	took, _ := timed(o, func(n int) error {
		for range n {
			copy(to, from)
		}
		return nil
	})
	return errors.Join(parent.Send(took), unix.Munmap(from), unix.Munmap(to))
}

// sharedMemory maps a memfd of its own and touches every byte.
func sharedMemory(size int) ([]byte, error) {
	fd, err := unix.MemfdCreate("weft-bench", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // the mapping stays
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, fmt.Errorf("a memfd of %d bytes: %w", size, err)
	}
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map a memfd of %d bytes: %w", size, err)
	}
	for i := range b {
		b[i] = byte(i)
	}
	return b, nil
}

// CacheLine measures how long a word takes from one core to the other when both sides do nothing but look, in microseconds.
func CacheLine(count int) (float64, error) {
	first, second, err := pinned.Cores()
	if err != nil {
		return 0, err
	}
	var took time.Duration
	err = pinned.One("cache line", func(p *pinned.Process) error {
		return errors.Join(p.Send(order{Count: count, Warm: count / 10}), p.Send([2]int{first, second}), p.Receive(&took))
	})
	return halfTrip(took, count), err
}

func playCacheLine(parent *pinned.Line) error {
	var o order
	var cores [2]int
	if err := errors.Join(parent.Receive(&o), parent.Receive(&cores)); err != nil {
		return err
	}
	runtime.GOMAXPROCS(2)
	var there, back struct {
		_    [64]byte
		word atomic.Uint64
		_    [64]byte
	}
	answered := make(chan error)
	go func() {
		answered <- pinned.OnCore(cores[1], func() error {
			for i := range uint64(o.Warm + o.Count) {
				for there.word.Load() != i+1 {
				}
				back.word.Store(i + 1)
			}
			return nil
		})
	}()
	var turn uint64
	var took time.Duration
	err := pinned.OnCore(cores[0], func() (err error) {
		took, err = timed(o, func(n int) error {
			for range n {
				turn++
				there.word.Store(turn)
				for back.word.Load() != turn {
				}
			}
			return nil
		})
		return err
	})
	return errors.Join(err, <-answered, parent.Send(took))
}
