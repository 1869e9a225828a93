package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push"
)

// maxMemory is how much anonymous and shared memory a process of a push has, at most.
const maxMemory = 256 << 20

// memories watches how much memory processes take.
type memories struct {
	stop    chan struct{}
	looking sync.WaitGroup
	peaks   map[int]int // by process
}

// watchMemory looks at processes until peak is called.
func watchMemory(processes ...int) *memories {
	m := &memories{stop: make(chan struct{}), peaks: map[int]int{}}
	m.looking.Go(func() {
		for {
			for _, p := range processes {
				m.peaks[p] = max(m.peaks[p], memoryOf(p))
			}
			select {
			case <-m.stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return m
}

// peak is the most that one of them had.
func (m *memories) peak() (most int) {
	close(m.stop)
	m.looking.Wait()
	for peak := range maps.Values(m.peaks) {
		most = max(most, peak)
	}
	return most
}

// memoryOf is the anonymous and shared memory of a process, also what the kernel has put aside of it; 0: it has ended.
func memoryOf(process int) (octets int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 3 && slices.Contains([]string{"RssAnon:", "RssShmem:", "HugetlbPages:", "VmSwap:"}, words[0]) {
			kilobytes, _ := strconv.Atoi(words[1])
			octets += kilobytes << 10
		}
	}
	return octets
}

// modestly pushes, and expects that no process takes more memory than it may.
func (f *fleet) modestly(status int, args ...string) *push.Report {
	f.t.Helper()
	u := f.push(args...)
	processes := []int{u.cmd.Process.Pid}
	for _, a := range f.agents {
		processes = append(processes, a.cmd.Process.Pid)
	}
	watched := watchMemory(processes...)
	r := u.end(status)
	peak := watched.peak()
	if peak == 0 || peak > maxMemory {
		f.t.Errorf("a process had %d MiB of memory, and %d are allowed", peak>>20, maxMemory>>20)
	}
	f.t.Logf("%d files, %d bytes in %v; the largest process had %d MiB", r.Files, r.Bytes, r.Elapsed, peak>>20)
	return r
}

// scatter writes a sparse file: some bytes at odd places, and then nothing up to its size.
func scatter(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, 300_001)
	rand.NewChaCha8([32]byte{3}).Read(data)
	for i := range int64(8) {
		if _, err := f.WriteAt(data[:int(100_000*(i%3)+1)], size/9*i+12345*i); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
}

// sparseAlike expects that two files have the same bytes, and take as little room.
func sparseAlike(t *testing.T, one, other string) {
	t.Helper()
	var a, b unix.Stat_t
	if err := errors.Join(unix.Stat(one, &a), unix.Stat(other, &b)); err != nil {
		t.Fatal(err)
	}
	if a.Size != b.Size || b.Blocks > a.Blocks+a.Blocks/2 {
		t.Errorf("%s: %d bytes in %d sectors, want %d in %d", other, b.Size, b.Blocks, a.Size, a.Blocks)
	}
	for _, names := range [][2]string{{one, other}, {other, one}} {
		if at := differs(t, names[0], names[1]); at >= 0 {
			t.Errorf("%s is different at byte %d", other, at)
		}
	}
}

// differs is where data of a file is not in another one; -1: nowhere.
func differs(t *testing.T, of, in string) int64 {
	t.Helper()
	from, err := os.Open(of)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	mine, theirs := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		if at, err = from.Seek(at, unix.SEEK_DATA); err != nil {
			return -1 // the rest is a hole
		}
		n, _ := from.ReadAt(mine, at)
		m, err := to.ReadAt(theirs, at)
		if n != m || !bytes.Equal(mine[:n], theirs[:m]) || err != nil && !errors.Is(err, io.EOF) {
			return at
		}
		at += int64(n)
	}
}

// What is hollow stays hollow, however large it seems.
func TestPushSparse(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 30)
	for name, size := range map[string]int64{"hollow": 20 << 30, "empty": 1 << 40, "short": 4097} {
		scatter(t, filepath.Join(f.source, name), size)
	}
	if err := os.Truncate(filepath.Join(f.source, "empty"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(f.source, "empty"), 1<<40); err != nil {
		t.Fatal(err)
	}
	r := f.modestly(push.ExitOK)
	if most := uint64(4 << 20); r.Bytes > most {
		t.Errorf("%d bytes were sent of a file with less than %d", r.Bytes, most)
	}
	for _, a := range f.agents {
		for _, name := range []string{"hollow", "empty", "short"} {
			sparseAlike(t, filepath.Join(f.source, name), filepath.Join(a.root, filepath.Base(f.source), name))
		}
	}
	f.leavesNothing()
	if r = f.push().end(push.ExitOK); outcomeOf(r, f.agents[0]).Written > 0 {
		t.Errorf("pushed again: %+v", r.Hosts)
	}
}

// plenty makes a tree with so many small files, some of them empty, in nested folders.
func plenty(t *testing.T, dir string, files int) {
	t.Helper()
	data := make([]byte, 2000)
	rand.NewChaCha8([32]byte{4}).Read(data)
	folder := ""
	for i := range files {
		if i%100 == 0 {
			folder = filepath.Join(dir, fmt.Sprint("a", i/10000), fmt.Sprint("b", i/1000), fmt.Sprint("c", i/100))
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint("file", i)), data[i%1000:][:i%997], 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

// A tree of many small files goes in few blocks and little memory, and once more at the cost of its names.
func TestPushManyFiles(t *testing.T) {
	t.Parallel()
	newFleet(t, 2, 30).getsMany(long(5_000, 100_000))
}

// Nor is it otherwise with more of them than a process could keep in mind.
func TestPushAMillionFiles(t *testing.T) {
	if !isLong() {
		t.Skip("a million files to an agent: WEFT_LONG=1 runs it")
	}
	newFleet(t, 1, 30).getsMany(1_000_000)
}

// getsMany pushes so many files, and again.
func (f *fleet) getsMany(files int) {
	f.t.Helper()
	plenty(f.t, f.source, files)
	r := f.modestly(push.ExitOK, "--block", "auto")
	f.clean(r)
	if blocks := int(r.Bytes)/r.Plan.Block + 1; blocks > files/50 {
		f.t.Errorf("%d files went in %d blocks", files, blocks)
	}
	most := r.Bytes + r.Bytes/20 + uint64(files)*50
	for _, a := range f.agents {
		if h := outcomeOf(r, a); h.Written < uint64(files) || h.Received > most {
			f.t.Errorf("%s has written %d files of %d, and was sent %d bytes of at most %d", a.name, h.Written, files, h.Received, most)
		}
	}
	again := f.modestly(push.ExitOK, "--block", "auto")
	for _, a := range f.agents {
		if h := outcomeOf(again, a); h.Written != 0 || h.Received > uint64(files)*100 {
			f.t.Errorf("%s has it, and was sent %d bytes, and has written %d files", a.name, h.Received, h.Written)
		}
	}
	f.clean(again)
}

// Whatever the size of blocks, memory is enough, or it is said which is too large.
func TestPushBlockSizes(t *testing.T) {
	t.Parallel()
	sizes, agents := []string{"16KiB", "4MiB"}, 2
	if isLong() {
		sizes, agents = []string{"16KiB", "64KiB", "256KiB", "1MiB", "4MiB"}, 16
	}
	f := newFleet(t, agents, maxMemory+44<<20) // who kept all of it would have too much
	for _, size := range sizes {
		for _, way := range []string{"tcp", "shm"} {
			f.clean(f.modestly(push.ExitOK, "--block", size, "--provider", way))
			for _, a := range f.agents {
				a.forget(t)
			}
		}
	}
}

// A file that is larger than the memory of a process, several times.
func TestPushLargeFile(t *testing.T) {
	if !isLong() {
		t.Skip("4 GiB to two agents: WEFT_LONG=1 runs it")
	}
	f := newFleet(t, 2, 30)
	if err := makeUp(filepath.Join(f.source, "large"), 4<<30); err != nil {
		t.Fatal(err)
	}
	r := f.modestly(push.ExitOK, "--block", "auto")
	for _, a := range f.agents {
		sparseAlike(t, filepath.Join(f.source, "large"), filepath.Join(a.root, filepath.Base(f.source), "large"))
		if outcomeOf(r, a).Outcome != push.OutcomeVerified {
			t.Errorf("%s: %+v", a.name, outcomeOf(r, a))
		}
	}
	f.leavesNothing()
}
