package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

// odd makes a tree with all that trees may have, beside the files of a fleet's.
func odd(t *testing.T, dir string) {
	t.Helper()
	name := "odd\n\xff\x01 name"
	put(t, filepath.Join(dir, name, "-rf *"), "careful")
	put(t, filepath.Join(dir, "script"), "#!/bin/sh\n")
	put(t, filepath.Join(dir, "secret"), "nobody may read it")
	put(t, filepath.Join(dir, "none"), "")
	scatter(t, filepath.Join(dir, "hollow"), 64<<20)
	err := errors.Join(
		os.Chmod(filepath.Join(dir, "script"), 0o755),
		os.Chmod(filepath.Join(dir, "secret"), 0),
		os.MkdirAll(filepath.Join(dir, "empty", "inner"), 0o700),
		os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "empty", "another name of one")),
		os.Link(filepath.Join(dir, "below", "small"), filepath.Join(dir, name, "small")),
		os.Symlink("nowhere\xfe", filepath.Join(dir, "dangling")),
		os.Symlink("../..", filepath.Join(dir, "out")),
		os.Symlink("below/two", filepath.Join(dir, "two")),
	)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1e9, 123456789)
	for _, path := range []string{"one", "script", "empty/inner", "empty", name, ""} { // what is in a folder comes before it
		if err := os.Chtimes(filepath.Join(dir, path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "below"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "below"), 0o755) })
}

// portrait is all that should be the same of two trees, a line a name. Names of one file are told by the first of them.
func portrait(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	first := map[uint64]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		s, _ := info.Sys().(*syscall.Stat_t)
		if first[s.Ino] == "" {
			first[s.Ino] = name
		}
		fmt.Fprintf(&all, "%q %v %d is %q:", name, info.Mode(), info.ModTime().UnixNano(), first[s.Ino])
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			fmt.Fprintf(&all, " %d bytes %x %v", len(text), sha256.Sum256(text), err)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			fmt.Fprintf(&all, " %q %v", target, err)
		}
		all.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// looksAlike compares the trees of all agents with the source.
func (f *fleet) looksAlike() {
	f.t.Helper()
	want := portrait(f.t, f.source)
	for _, a := range f.agents {
		there := filepath.Join(a.root, filepath.Base(f.source))
		if got := portrait(f.t, there); got != want {
			f.t.Errorf("%s has\n%sand should have\n%s", a.name, got, want)
		}
		sparseAlike(f.t, filepath.Join(f.source, "hollow"), filepath.Join(there, "hollow"))
	}
}

// A tree arrives as it is: names, kinds, modes, times, names of one file, holes; also where an agent was killed on the way, and when it is said again.
func TestPushTreeAsItIs(t *testing.T) {
	if os.Geteuid() != 0 {
		lacking(t, "files that nobody may read are for root")
	}
	t.Parallel()
	f := newFleet(t, 3, 1<<20)
	odd(t, f.source)
	f.bytes = f.push("-n").end(push.ExitOK).Bytes
	u := f.slowly()
	f.await(u, half, f.agents[1])
	f.agents[1].signal(syscall.SIGKILL)
	f.agents[1].kill()
	r := f.ended(u)
	missed(t, f, f.agents[1])
	f.rerun(r)
	f.looksAlike()
	for _, h := range f.push().end(push.ExitOK).Hosts {
		if h.Written > 0 {
			t.Errorf("pushed again: %+v", h)
		}
	}
	f.looksAlike()
}
