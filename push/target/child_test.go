package target

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childVariable makes the test binary a receiver that dies: "DIR STEP FORCE", at the so many-th step; 0: when its parent
// wants.
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
	var force bool
	if _, err := fmt.Sscanf(os.Getenv(childVariable), "%s %d %t", &dir, &left, &force); err != nil {
		panic(err)
	}
	p := pack(&testing.T{}, childTree()...)
	r, err := OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	o := p.order("dest")
	o.Force = force
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

func childOf(binary, dir string, at int, force bool) *exec.Cmd {
	child := exec.Command(binary)
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %t", childVariable, dir, at, force))
	return child
}

// kill runs a child that dies, and returns how many blocks it has said to have written.
func kill(t *testing.T, dir string, at int, force bool, after time.Duration) (blocks int) {
	t.Helper()
	child := childOf(os.Args[0], dir, at, force)
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
func survive(t *testing.T, dir string, force bool, written int) {
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
	o.Force = force
	done := mustDeliver(t, p, r, o)
	if blocks := (len(p.content) + testBlock - 1) / testBlock; done.sent > blocks-written {
		t.Errorf("%d of %d blocks are sent though %d were there", done.sent, blocks, written)
	}
	checkTree(t, filepath.Join(dir, "dest"), items...)
	if partialsOf(t, dir) != 0 {
		t.Error("a partial is left")
	}
}

// TestNotRoot has a receiver that is another user.
func TestNotRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	dir := childDir(t)
	binary := readable(t, dir)
	killed := 0
	asUser := func() ([]byte, error) {
		child := childOf(binary, dir, killed, true)
		child.Dir = "/"
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		return child.CombinedOutput()
	}
	if out, err := asUser(); err == nil || !strings.Contains(string(out), ErrPermission.Error()) {
		t.Fatalf("in a directory of root's: %v: %s", err, out)
	}
	for _, path := range []string{"", "dest", "dest/top", "dest/top/zz-was-there"} {
		if err := os.Chown(filepath.Join(dir, path), 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	killed = 20
	if out, err := asUser(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	for _, path := range dataFiles(t, dir) { // as if killed between the mode and the name
		if err := os.Chmod(path, 0o040); err != nil {
			t.Fatal(err)
		}
	}
	killed = 0
	if out, err := asUser(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	checkTree(t, filepath.Join(dir, "dest"), childTree()...)
	damage(t, filepath.Join(dir, "dest/top/closed/in"), 5) // in a directory that its owner may not write to
	if out, err := asUser(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	checkTree(t, filepath.Join(dir, "dest"), childTree()...)
}

// somebody is a user who is not root.
const somebody = 12345

// asSomebody has a test run by another user than root, who may do everything: if this is root, in a process of its own. It reports whether
// it is to be run here.
func asSomebody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	dir := somebodysDir(t)
	child := exec.Command(readable(t, dir), "-test.v", "-test.run=^"+t.Name()+"$")
	child.Dir = dir
	child.Env = append(os.Environ(), "TMPDIR="+dir)
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}
	if out, err := child.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("as another user: %v:\n%s", err, out)
	}
	return false
}

// somebodysDir is a directory of that user's, if this is root.
func somebodysDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		return dir
	}
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, somebody, somebody)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asUser does something with the rights of that user, if this is root. The thread that is the user ends with the goroutine.
func asUser(do func() error) error {
	done := make(chan error)
	go func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread()
			if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), somebody, ^uintptr(0)); err != 0 {
				done <- err
				return
			}
		}
		done <- do()
	}()
	return <-done
}

// dataFiles are those of partials.
func dataFiles(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, weftFolder, partialFolder, "*", dataFolder, "*", "*"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all
}

// readable makes a directory open to others, and a copy of this binary in one like it.
func readable(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "receiver")
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(binary))} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return binary
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
			dir := t.TempDir()
			survive(t, dir, false, kill(t, dir, at, false, 0))
		})
		t.Run(strconv.Itoa(at)+" over others", func(t *testing.T) {
			dir := childDir(t)
			survive(t, dir, true, kill(t, dir, at, true, 0))
		})
	}
}

func TestKilledAtAnyTime(t *testing.T) {
	for i := range 30 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			dir := childDir(t)
			after := time.Duration(1 + rand.Int64N(int64(8*time.Millisecond)))
			survive(t, dir, true, kill(t, dir, 0, true, after))
		})
	}
}
