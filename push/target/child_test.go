package target

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// childVariable makes the test binary a receiver that dies: "DIR STEP", at the so many-th step; 0: when its parent wants.
const childVariable = "WEFT_TARGET_CHILD"

// dying is a context that kills the process when it was asked so often: Commit asks before each entry.
type dying struct {
	context.Context
	left *int
}

func (d dying) Err() error {
	step(d.left)
	return nil
}

func step(left *int) {
	if *left--; *left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// childTree has entries of all kinds, twice: the second time over files that are there already.
func childTree() []item { return append(tree(), file("top/zz-was-there", noise(9, 3*testBlock))) }

// wasThere is like one of childTree, with another block in the middle.
func wasThere() []byte {
	old := noise(9, 3*testBlock)
	copy(old[testBlock:], noise(10, testBlock))
	return old
}

// runChild delivers, says a byte for each block that is written, and dies.
func runChild() {
	var dir string
	var left int
	if _, err := fmt.Sscanf(os.Getenv(childVariable), "%s %d", &dir, &left); err != nil {
		panic(err)
	}
	p := pack(&testing.T{}, childTree()...)
	r, err := OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	o := p.order("dest")
	o.Force = true
	d, err := p.start(r, o)
	if err != nil {
		panic(err)
	}
	for block := range d.Content().Blocks() {
		step(&left)
		if err := d.Write(block, cut(d.Content(), p.content, block)); err != nil {
			panic(err)
		}
		os.Stdout.Write([]byte{'.'})
		step(&left)
	}
	if _, err := d.Commit(dying{context.Background(), &left}); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// kill runs a child that dies, and returns how many blocks it has said to have written.
func kill(t *testing.T, dir string, at int, after time.Duration) (blocks int) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir+" "+strconv.Itoa(at))
	var trouble bytes.Buffer
	child.Stderr = &trouble
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	for {
		if _, err := said.ReadByte(); err != nil {
			break
		}
		if blocks++; blocks == 1 && after > 0 {
			time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
	}
	if err := child.Wait(); err != nil && child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("child: %v: %s", err, trouble.String())
	}
	return blocks
}

// survive checks what a killed child has left, and finishes its push.
func survive(t *testing.T, dir string, written int) {
	t.Helper()
	items := childTree()
	for _, i := range items {
		data, err := os.ReadFile(filepath.Join(dir, "dest", i.Path))
		if i.data != nil && err == nil && !bytes.Equal(data, i.data) && !bytes.Equal(data, wasThere()) {
			t.Errorf("%s is there and wrong", i.Path)
		}
	}
	r := openAt(t, dir)
	p := pack(t, items...)
	o := p.order("dest")
	o.Force = true
	done := mustDeliver(t, p, r, o)
	if blocks := (len(p.content) + testBlock - 1) / testBlock; done.sent > blocks-written {
		t.Errorf("%d of %d blocks are sent though %d were there", done.sent, blocks, written)
	}
	checkTree(t, filepath.Join(dir, "dest"), items...)
	if partialsOf(t, dir) != 0 {
		t.Error("a partial is left")
	}
}

func childDir(t *testing.T) string {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "dest/top"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dest/top/zz-was-there"), wasThere(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestKilledAtEveryStep(t *testing.T) {
	blocks := (len(pack(t, childTree()...).content) + testBlock - 1) / testBlock
	for at := 1; at <= 2*blocks+len(childTree()); at++ {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			dir := childDir(t)
			survive(t, dir, kill(t, dir, at, 0))
		})
	}
}

func TestKilledAtAnyTime(t *testing.T) {
	for i := range 30 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			dir := childDir(t)
			after := time.Duration(1 + rand.Int64N(int64(8*time.Millisecond)))
			survive(t, dir, kill(t, dir, 0, after))
		})
	}
}
