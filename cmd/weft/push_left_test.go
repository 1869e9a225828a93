package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/manifest"
)

// clean checks what a push has left behind, however it ended: whoever has verified it has the same tree, no file of anybody has its name with
// a wrong byte, in .weft is nothing but what a rerun goes on from, and of the pusher nothing is left.
func (f *fleet) clean(r *push.Report) {
	f.t.Helper()
	empty(f.t, f.temp)
	for _, a := range f.agents {
		f.noWrongByte(a)
		partials := partialsOf(f.t, a.root)
		switch isDone := r != nil && outcomeOf(r, a).Outcome == push.OutcomeVerified; {
		case isDone && len(partials) > 0:
			f.t.Errorf("%s is done, and keeps %q", a.name, partials)
		case isDone:
			same(f.t, f.source, filepath.Join(a.root, filepath.Base(f.source)))
		case len(partials) > 1:
			f.t.Errorf("%s keeps %q of one push", a.name, partials)
		}
	}
}

// leavesNothing expects that nothing is left of pushes but what they were for, not even what a rerun could go on from.
func (f *fleet) leavesNothing() {
	f.t.Helper()
	empty(f.t, f.temp)
	for _, a := range f.agents {
		if left := partialsOf(f.t, a.root); len(left) > 0 {
			f.t.Errorf("%s keeps %q", a.name, left)
		}
	}
}

// noWrongByte compares every file that has its name, and looks for names that nobody has pushed.
func (f *fleet) noWrongByte(a *fleetAgent) {
	f.t.Helper()
	err := filepath.WalkDir(a.root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == a.root:
			return nil
		case entry.Name() == ".weft":
			return fs.SkipDir
		}
		name, _ := filepath.Rel(a.root, path)
		if info, wrong := os.Lstat(filepath.Join(filepath.Dir(f.source), name)); wrong != nil || info.Mode().Type() != entry.Type() {
			f.t.Errorf("%s has %s, a %v: %v", a.name, name, entry.Type(), wrong)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		got, err := os.ReadFile(path)
		want, wrong := os.ReadFile(filepath.Join(filepath.Dir(f.source), name))
		if wrong != nil || !bytes.Equal(got, want) {
			f.t.Errorf("%s has another %s: %v", a.name, name, wrong)
		}
		return err
	})
	if err != nil {
		f.t.Error(err)
	}
}

// partialsOf are the folders in the only one that may be left in .weft.
func partialsOf(t *testing.T, root string) (partials []string) {
	t.Helper()
	known, _ := filepath.Glob(filepath.Join(root, ".weft", "partial"))
	all, _ := filepath.Glob(filepath.Join(root, ".weft", "*"))
	if len(known) != len(all) {
		t.Errorf("in .weft is %q", all)
	}
	partials, _ = filepath.Glob(filepath.Join(root, ".weft", "partial", "*"))
	return partials
}

// held are the blocks that a partial has on disk, by its own map.
func (f *fleet) held(a *fleetAgent) (blocks int) {
	f.t.Helper()
	partials := partialsOf(f.t, a.root)
	if len(partials) == 0 {
		return 0
	}
	var info struct{ Block int }
	text, err := os.ReadFile(filepath.Join(partials[0], "info"))
	if err != nil || json.Unmarshal(text, &info) != nil || info.Block != fleetBlock {
		return 0
	}
	octets, _ := os.ReadFile(filepath.Join(partials[0], "map")) // who was killed early has none, or late: it is removed with the rest
	for _, octet := range octets {
		blocks += bits.OnesCount8(octet)
	}
	return blocks
}

// allHeld is what all agents have on disk; those that are done have everything.
func (f *fleet) allHeld(r *push.Report) map[*fleetAgent]int {
	f.t.Helper()
	all := make(map[*fleetAgent]int)
	for _, a := range f.agents {
		if all[a] = f.held(a); r != nil && outcomeOf(r, a).Outcome == push.OutcomeVerified {
			all[a] = f.layout().Blocks()
		}
	}
	return all
}

// layout is how the content is cut into blocks.
func (f *fleet) layout() manifest.Layout {
	f.t.Helper()
	if f.bytes > 0 {
		return manifest.NewLayout(manifest.ContentStream, f.bytes, fleetBlock)
	}
	size := int64(0)
	err := filepath.WalkDir(f.source, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		size += info.Size()
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return manifest.NewLayout(manifest.ContentStream, uint64(size), fleetBlock)
}

// rerun checks what a push has left, pushes again, to everybody, and expects that each agent is sent what it lacks and not a block more.
func (f *fleet) rerun(before *push.Report) *push.Report {
	f.t.Helper()
	f.clean(before)
	f.revive()
	held, l := f.allHeld(before), f.layout()
	r := f.push().end(push.ExitOK)
	for _, a := range f.agents {
		lacking := l.Blocks() - held[a]
		most := uint64(lacking*l.Wire()) + fleetBlock/2 // the manifest
		if got := outcomeOf(r, a).Received; got > most {
			f.t.Errorf("%s lacked %d of %d blocks, and was sent %d bytes, more than %d", a.name, lacking, l.Blocks(), got, most)
		}
	}
	f.clean(r)
	return r
}

// onDisk is what some agents have on disk while a push runs.
func (f *fleet) onDisk(some ...*fleetAgent) map[*fleetAgent]int {
	f.t.Helper()
	had := make(map[*fleetAgent]int)
	for _, a := range some {
		had[a] = f.held(a)
	}
	return had
}

// keeps expects that agents still have what they had: of one that has lost it, a rerun finds that it lacks everything, and nothing wrong with that.
func (f *fleet) keeps(had map[*fleetAgent]int) {
	f.t.Helper()
	for a, blocks := range had {
		if n := f.held(a); n < blocks {
			f.t.Errorf("%s had %d blocks on disk, and keeps %d", a.name, blocks, n)
		}
	}
}

// revive starts agents that were killed; by that nobody may lose what it has.
func (f *fleet) revive() {
	f.t.Helper()
	had := f.onDisk(f.agents...)
	for _, a := range f.agents {
		if a.cmd == nil {
			f.start(a)
		}
	}
	f.keeps(had)
}

// missed expects that some agents have a part of the blocks.
func missed(t *testing.T, f *fleet, some ...*fleetAgent) {
	t.Helper()
	for _, a := range some {
		if n := f.held(a); n == 0 || n == f.layout().Blocks() {
			t.Errorf("%s holds %d of %d blocks: the push was not under way", a.name, n, f.layout().Blocks())
		}
	}
}
