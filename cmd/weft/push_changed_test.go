package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/push"
)

// changes are what people do with a file that is being pushed.
var changes = map[string]func(t *testing.T, path string){
	"appended": func(t *testing.T, path string) { edit(t, path, os.O_APPEND, 0) },
	"truncated": func(t *testing.T, path string) {
		if err := os.Truncate(path, 100); err != nil {
			t.Fatal(err)
		}
	},
	"rewritten as old as before": func(t *testing.T, path string) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		edit(t, path, 0, info.Size()/2)
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	},
	"replaced": func(t *testing.T, path string) {
		put(t, path+".new", strings.Repeat("new!", 1<<18))
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	},
	"removed": func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		put(t, path, "there has to be something for the rerun")
	},
}

// edit writes a word into a file.
func edit(t *testing.T, path string, flags int, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	if at > 0 {
		_, err = f.WriteAt([]byte("changed"), at)
	} else {
		_, err = f.WriteString("changed")
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
}

// readAhead is more than what a pusher has read and not sent. What changes after it was read does not matter: nobody is sent that.
const readAhead = 18 << 20

// A file that changes while it is sent ends the push, and nobody gets to see it, not the half of it.
func TestPushOfAChangingSource(t *testing.T) {
	t.Parallel()
	for name, change := range changes {
		for _, file := range []string{"below/two", "one"} { // the first is sent first
			if !isLong() && file == "one" {
				continue
			}
			t.Run(name+" "+file, func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, 2, readAhead*2)
				u := f.push("--bwlimit", "4MB")
				f.await(u, moment{"early", begins("send"), 1}, f.agents[0])
				path := filepath.Join(f.source, file)
				change(t, path)
				r := u.end(push.ExitSource)
				if !strings.Contains(r.Error, filepath.Base(file)) || !strings.Contains(r.Error, "changed") {
					t.Errorf("it says %q", r.Error)
				}
				for _, a := range f.agents {
					if _, err := os.Lstat(filepath.Join(a.root, "tree")); err == nil {
						t.Errorf("%s has a tree", a.name)
					}
				}
				f.clean(r)
				f.push().end(push.ExitOK)
				for _, a := range f.agents {
					same(t, f.source, filepath.Join(a.root, "tree"))
				}
			})
		}
	}
}
