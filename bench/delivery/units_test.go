package delivery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFindGroup(t *testing.T) {
	const mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
	got, err := findGroup(mounts, "2:cpu:/x\n0::/user/7\n")
	if got != "/sys/fs/cgroup/unified/user/7" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range [][2]string{{"", "0::/"}, {mounts, "2:cpu:/x\n"}, {"cgroup /sys cgroup rw 0 0\n", "0::/"}} {
		if _, err := findGroup(bad[0], bad[1]); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestParseUsage(t *testing.T) {
	if got, err := parseUsage("usage_usec 1500000\nuser_usec 1\n"); got != 1.5 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "usage_usec x\n", "user_usec 7\n"} {
		if _, err := parseUsage(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzParseUsage(f *testing.F) {
	f.Add("usage_usec 1500000\nuser_usec 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if seconds, err := parseUsage(text); err == nil && seconds < 0 {
			t.Error(seconds)
		}
	})
}

func TestOrphans(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	gone := filepath.Join(folder, fmt.Sprint(ownName, ended.Process.Pid, "-123"))
	for _, path := range []string{gone, filepath.Join(folder, fmt.Sprint(ownName, os.Getpid())), filepath.Join(folder, ownName+"x"), filepath.Join(folder, "other-1")} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := orphans(folder); !slices.Equal(got, []string{gone}) {
		t.Errorf("orphans are %v, want %s", got, gone)
	}
}

// What is held is in use, page by page, until it is given up.
func TestWarmth(t *testing.T) {
	const bytes = 3<<20 + 1
	var w warmth
	defer w.give()
	if err := w.take(t.Context(), bytes); err != nil || len(w.memory) != bytes {
		t.Fatalf("%d bytes, %v", len(w.memory), err)
	}
	for at := 0; at < bytes; at += os.Getpagesize() {
		if w.memory[at] != 1 {
			t.Fatalf("byte %d was not used", at)
		}
	}
	first := &w.memory[0]
	if err := w.take(t.Context(), bytes); err != nil || &w.memory[0] != first {
		t.Errorf("what is held was taken again: %v", err)
	}
	if w.give(); w.memory != nil {
		t.Error("it is still held")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := w.take(ended, 1<<40); !errors.Is(err, context.Canceled) {
		t.Errorf("it used up half of the memory for a run that has ended: %v", err)
	}
}

func TestSpan(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(second int, received ...uint64) look {
		return look{start.Add(time.Duration(second) * time.Second), received}
	}
	const mib = 1 << 20
	first, last, err := span([]look{
		at(0, 0, 100, 100), at(1, 9*mib, 1000, 100), at(2, 0, 2*mib, 100), at(3, 0, 9*mib, 3*mib), at(4, 0, 9*mib, 9*mib), at(5, 0, 9*mib+7, 9*mib+9),
	})
	if first != start.Add(2*time.Second) || last != start.Add(4*time.Second) || err != nil {
		t.Errorf("from %v to %v, %v", first.Sub(start), last.Sub(start), err)
	}
	if _, _, err := span([]look{at(0, 0, 0), at(1, 9*mib, 9)}); err == nil {
		t.Error("the sender's own traffic was taken for a delivery")
	}
}

func TestBencode(t *testing.T) {
	got := bencode(nil, dictionary{"b": 7, "a": dictionary{"x": "yz"}})
	if want := "d1:ad1:x2:yze1:bi7ee"; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTorrent(t *testing.T) {
	got, err := torrent(strings.NewReader("abcde"), "f", 5, 4, "http://h/a")
	if err != nil {
		t.Fatal(err)
	}
	const head = "d8:announce10:http://h/a4:infod6:lengthi5e4:name1:f12:piece lengthi4e6:pieces40:"
	if !strings.HasPrefix(string(got), head) || len(got) != len(head)+40+2 || !strings.HasSuffix(string(got), "ee") {
		t.Errorf("%q", got)
	}
}

func TestTrackerAnswer(t *testing.T) {
	got, err := trackerAnswer([]string{"10.77.0.1", "10.77.0.2"})
	if want := "d8:intervali1e5:peers12:\x0a\x4d\x00\x01\x1a\xe1\x0a\x4d\x00\x02\x1a\xe1e"; string(got) != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := trackerAnswer([]string{"localhost"}); err == nil {
		t.Error("a name was taken for an address")
	}
}

func TestSameText(t *testing.T) {
	long := strings.Repeat("x", copyChunk+5)
	for _, c := range []struct {
		a, b string
		same bool
	}{{"", "", true}, {long, long, true}, {long, long + "y", false}, {long, long[1:], false}, {"a", "b", false}, {long + "a", long + "b", false}} {
		if err := sameText(strings.NewReader(c.a), strings.NewReader(c.b)); (err == nil) != c.same {
			t.Errorf("%d and %d bytes: %v", len(c.a), len(c.b), err)
		}
	}
}

func TestParseReport(t *testing.T) {
	const head = `{"provider":"shm","blocks":100,"bound_steps":102,"median":`
	s, err := ParseReport([]byte(head+`{"seconds":0.5,"skew_seconds":0.1,"cpu_seconds":3,"verified":true}}`), "shm")
	if want := (Sample{Seconds: 0.5, Skew: 0.1, CPU: 3, Bound: 1.02}); s != want || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", head + "null}", head + `{"seconds":0.5}}`, head + `{"seconds":0,"verified":true}}`,
		`{"provider":"tcp","blocks":1,"median":{"seconds":1,"verified":true}}`, `{"provider":"shm","median":{"seconds":1,"verified":true}}`} {
		if _, err := ParseReport([]byte(bad), "shm"); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte(`{"provider":"shm","blocks":100,"bound_steps":102,"median":{"seconds":0.5,"verified":true}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := ParseReport(text, "shm"); err == nil && !(s.Seconds > 0 && s.Skew >= 0) {
			t.Errorf("%+v", s)
		}
	})
}

// TestPlay refuses what only this program itself says.
func TestPlay(t *testing.T) {
	for _, bad := range []string{"", "nobody", "copy-read", "copy-read x y", "copy-read 0 127.0.0.1:0", "copy-write 1 one", "tracker", "tracker 1 name"} {
		if err := Play(strings.Fields(bad)); err == nil {
			t.Errorf("%q was played", bad)
		}
	}
}
