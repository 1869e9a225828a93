package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

// timesAlike is for how long after a change another one may have the same time, so that hashes are not remembered.
const timesAlike = 2 * time.Second

// bytesRead is how much a push has read of all files, when it is over.
func (u *underWay) bytesRead() (octets int) {
	u.t.Helper()
	u.until(func(push.Event) bool { return false })
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", u.cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscanf(string(text), "rchar: %d", &octets)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.end(push.ExitOK)
	return octets
}

// A source that has not changed is not read again, but with --checksum.
func TestPushReadsASourceOnce(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	f := newFleet(t, 1, size)
	time.Sleep(timesAlike + timesAlike/4)
	for _, c := range []struct {
		flag  string
		reads bool
	}{{"--checksum=false", true}, {"--checksum=false", false}, {"--checksum", true}} {
		if n := f.push(c.flag).bytesRead(); c.reads && (n < size || n > size*3/2) || !c.reads && n > size/4 {
			t.Errorf("%s: of %d bytes it has read %d", c.flag, size, n)
		}
		f.clean(nil)
	}
	put(t, filepath.Join(f.source, "one"), "another")
	if n := f.push("-f").bytesRead(); n < size/2 {
		t.Errorf("of a source that has changed it has read %d bytes", n)
	}
}

// Links are never measured to be quite the same. Who pushes again has the hashes all the same, because the blocks stay as they were.
func TestPushAgainInTheSameBlocks(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	f := newFleet(t, 1, size)
	time.Sleep(timesAlike + timesAlike/4)
	blocks, read := map[int]bool{}, 0
	for _, rate := range []string{"1gbit", "600mbit", "1400mbit"} {
		u := f.push("--block", "auto", "--rate", rate, "--checksum=false")
		read += u.bytesRead()
		blocks[u.report.Plan.Block] = true
	}
	if len(blocks) > 1 || read > 2*size {
		t.Errorf("three pushes of %d bytes in blocks of %v have read %d", size, blocks, read)
	}
}
