package push

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push"
)

// What the first byte is awaited of.
const (
	largeBytes = 20 << 30
	quickLarge = 2 << 30
	smallBytes = 100 << 20
	firstBound = 1.2
	spareDisk  = 2 << 30
	firstHosts = 3
)

// firstStep measures how long it takes until the first byte is delivered, of a large file and of a small one.
func (b *bench) firstStep() contest.Step {
	large := largeBytes
	if b.Quick {
		large = quickLarge
	}
	c := contest.Contest{What: fmt.Sprintf("first byte, %v source", units.Size(large)), Peer: fmt.Sprintf("%v source", units.Size(smallBytes)), Unit: "s", Bound: firstBound, AtMost: true}
	s := contest.Step{Name: c.What, Watches: true}
	s.Run = func() (rows []contest.Result, err error) {
		folder, err := os.MkdirTemp("", "weft-bench-push-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		f, err := delivery.Open(firstHosts, linkRates[0])
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if c.Theirs, err = b.firstOf(f, folder, smallBytes); err != nil {
			return nil, err
		}
		if c.Ours, err = b.firstOf(f, folder, large); err != nil {
			return nil, err
		}
		row, err := c.Hold(b.Pairs)
		return []contest.Result{row}, err
	}
	return s
}

// firstOf makes a source on a disk, and has its first byte delivered again and again.
func (b *bench) firstOf(f *delivery.Field, folder string, size int) (func() (float64, error), error) {
	path := filepath.Join(folder, fmt.Sprint("source-", size))
	b.say("writing %v to %s", units.Size(size), folder)
	if err := makeSource(path, size); err != nil {
		return nil, err
	}
	told := &delivery.Pushed{}
	p := delivery.Push{Name: filepath.Base(path), Options: options(linkRates[0], "--plain"), Source: path, Enough: firstArrived}
	c := p.Contestant(told)
	return func() (float64, error) {
		if err := chill(path); err != nil {
			return 0, err
		}
		if _, err := f.Deliver(b.ctx, c, delivery.Load{Bytes: smallBytes, Repeats: 1}); err != nil {
			return 0, err
		}
		first, err := told.First()
		b.say("%v: the first byte is there after %v", units.Size(size), first)
		return first.Seconds(), err
	}, nil
}

// firstArrived reports whether all hosts have more than the first block, so that the push can end.
func firstArrived(e push.Event) bool {
	const some = 4 << 20
	return e.Kind == push.EventProgress && e.Progress != nil && e.Progress.Phase == "send" && e.Progress.Done >= some*firstHosts
}

// chill has the kernel forget what it keeps of a file. All of a small one would be in memory, and nothing of the beginning of a large one.
func chill(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED), file.Close())
}

// makeSource writes a file that nothing can compress, if there is room.
func makeSource(path string, size int) (err error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &disk); err != nil {
		return err
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < uint64(size)+spareDisk {
		return fmt.Errorf("a file of %v needs a larger disk than that of %s, with %v free: TMPDIR may name another", units.Size(size), filepath.Dir(path), units.Size(free))
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, rand.NewChaCha8([32]byte{2}), int64(size))
	return errors.Join(err, out.Sync(), out.Close()) // what is not written cannot be forgotten
}
