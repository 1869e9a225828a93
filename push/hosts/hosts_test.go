package hosts

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// files is a ReadFunc over texts.
func files(texts map[string]string) ReadFunc {
	return func(name string) ([]byte, error) {
		if text, ok := texts[name]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

var none = files(nil)

func strs(hosts []Host) (out []string) {
	for _, h := range hosts {
		out = append(out, h.String())
	}
	return out
}

func TestParse(t *testing.T) {
	read := files(map[string]string{
		"list": "# all of them\nnode[1-2], node3 # the third\n\n\tother node1\r\n",
		"-":    "from[8-9]\nstdin",
		"bad":  "ok\nnot/ok\n",
	})
	for spec, want := range map[string]string{
		"":                             "",
		"a":                            "a",
		" a , b ":                      "a b",
		"node[01-03]":                  "node01 node02 node03",
		"node[8-11]":                   "node8 node9 node10 node11",
		"node[098-101]":                "node098 node099 node100 node101",
		"node[1,3,07-08]x":             "node1x node3x node07x node08x",
		"r[1-2]n[1-2]":                 "r1n1 r1n2 r2n1 r2n2",
		"10.0.0.[1-3]":                 "10.0.0.1 10.0.0.2 10.0.0.3",
		"root@h[1-2]:99":               "root@h1:99 root@h2:99",
		"h:[70-71]":                    "h:70 h:71",
		"::1":                          "[::1]",
		"[::1]:7470":                   "[::1]:7470",
		"me@[fe80::1%eth0]:7470,[::2]": "me@[fe80::1%eth0]:7470 [::2]",
		"a,b,A,a:1,x@a":                "a b a:1",
		"[1-2]a":                       "1a 2a",
		"-":                            "from8 from9 stdin",
		"z,-,^list":                    "z from8 from9 stdin node1 node2 node3 other",
	} {
		hosts, err := Parse([]string{spec}, read)
		if got := strings.Join(strs(hosts), " "); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", spec, got, err, want)
		}
	}
	if _, err := Parse([]string{"^bad"}, read); !errors.Is(err, ErrList) || !strings.Contains(err.Error(), "bad, line 2") {
		t.Error(err)
	}
	if _, err := Parse([]string{"^gone"}, read); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestBadLists(t *testing.T) {
	for _, spec := range []string{
		"a b/c", "node[1-", "node[]", "node[1-2", "node[2-1]", "node[a-b]", "node[1-2]]", "[[1-2]]", "-x", "--help", "@a", "-u@a", "a@", "a:", "a:0",
		"a:65536", "a:+1", "a:01", "a:x", "[::1", "[::1]x", "[::1]:", "[]", "::g", "1::2%", "host$", "höst", "a\x00b", "^", "..", ".a", "node[1-100001]",
		"n[1-1000]m[1-101]", "n[1-99999],m[1-2]", "n[0-18446744073709551615]", "n[1-999999999999999999]", "n[-1]", "n[1-2-3]", "n[+1]",
		strings.Repeat("x", MaxName+1), strings.Repeat("u", MaxUser+1) + "@a", strings.Repeat("n[1-9]", 40), strings.Repeat("[1]", 17), "[" + strings.Repeat(":", 50) + "]",
	} {
		if hosts, err := Parse([]string{spec}, files(map[string]string{"": "^"})); !errors.Is(err, ErrList) {
			t.Errorf("%q: %d hosts, %v", spec, len(hosts), err)
		}
	}
}

func TestAsManyAsAllowed(t *testing.T) {
	hosts, err := Parse([]string{"n[1-50000],m[1-1000]x[1-50]"}, none)
	if err != nil || len(hosts) != MaxHosts {
		t.Errorf("%d hosts, %v", len(hosts), err)
	}
}

func TestExclude(t *testing.T) {
	hosts, _ := Parse([]string{"n[1-4],h:[1-3],A"}, none)
	left, err := Exclude(hosts, 9, []string{"n[2-3]", "root@h:2,a,other"}, none)
	if got := strings.Join(strs(left), " "); err != nil || got != "n1 n4 h:1 h:3" {
		t.Errorf("%s, %v", got, err)
	}
	left, _ = Exclude(hosts, 9, []string{"n4:9,n1:8"}, none)
	if got := strings.Join(strs(left), " "); !strings.HasPrefix(got, "n1 n2 n3 h:1") {
		t.Errorf("without the one at the usual port: %s", got)
	}
	if left, err := Exclude(hosts, 9, []string{"h"}, none); err != nil || len(left) != 5 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := Exclude(hosts, 9, []string{"h["}, none); !errors.Is(err, ErrList) {
		t.Error(err)
	}
}

func TestFold(t *testing.T) {
	for want, names := range map[string]string{
		"":                          "",
		"a":                         "a a",
		"node[01-03,07],other":      "other node03 node01 node02 node07",
		"node[8-11]":                "node10 node9 node8 node11",
		"n[01,1,02,2]":              "n1 n2 n01 n02",
		"n[098-101]":                "n098 n099 n100 n101",
		"r[1-2]n[1-3]":              "r1n1 r1n2 r1n3 r2n1 r2n2 r2n3",
		"r1n[1-2],r2n1":             "r1n1 r1n2 r2n1",
		"n[1-2]-ib0":                "n1-ib0 n2-ib0",
		"10.0.0.[1-3]":              "10.0.0.1 10.0.0.2 10.0.0.3",
		"h:[70-71]":                 "h:70 h:71",
		"[::1]:70,[::2]:70":         "[::1]:70 [::2]:70",
		"a,a1,b":                    "b a a1",
		"n1111111111111111111,n2,x": "x n2 n1111111111111111111",
	} {
		got := Fold(strings.Fields(names))
		a, err := Parse([]string{got}, none)
		b, _ := Parse(strings.Fields(names), none)
		if err != nil || !slices.Equal(slices.Sorted(slices.Values(strs(a))), slices.Sorted(slices.Values(strs(b)))) {
			t.Errorf("%s folds to %s, which is %v, %v", names, got, a, err)
		}
		if want != got {
			t.Errorf("%s folds to %s, want %s", names, got, want)
		}
	}
}

// What is folded is read again.
func TestFoldAndParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`(u@)?[ab]?[0-9]{1,3}([ab][0-9]{1,2})?(:[1-9][0-9]?)?`), 0, 40).Draw(t, "names")
		b, err := Parse(names, none)
		if err != nil {
			t.Fatal(err)
		}
		want := strs(b)
		folded := Fold(want)
		a, err := Parse([]string{folded}, none)
		got := strs(a)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v folds to %s, which is %v, %v", want, folded, got, err)
		}
	})
}

// A host that need not be in the list, such as the one that pushes, has the rack that is said of its name, be it short or long.
func TestRackOfAName(t *testing.T) {
	read := files(map[string]string{"table": "left: n1, login\nn2.site right\n"})
	for _, c := range []struct{ name, spec, want string }{
		{"n1", "table", "left"}, {"login.site.example", "table", "left"}, {"n2.site", "table", "right"}, {"n2", "table", ""}, {"", "table", ""},
		{"node17.site", `node(\d)`, "1"}, {"login", `node(\d)`, ""}, {strings.Repeat("n", MaxRackName+1), ".*", ""},
	} {
		if r, err := ReadRacks(c.spec, read); err != nil || r.OfName(c.name) != c.want {
			t.Errorf("%s by %s is not in %q: %+v, %v", c.name, c.spec, c.want, r, err)
		}
	}
}

// racksFor reads racks, and says in which some hosts are.
func racksFor(hosts []Host, spec string, read ReadFunc) (racks []int, names []string, err error) {
	r, err := ReadRacks(spec, read)
	if err != nil {
		return nil, nil, err
	}
	return r.Of(hosts)
}

// A pipe has its text once: what was read of racks answers all questions about them.
func TestRacksAreReadOnce(t *testing.T) {
	hosts, _ := Parse([]string{"n[1-2],h"}, none)
	read := 0
	r, err := ReadRacks("-", func(string) ([]byte, error) {
		read++
		return []byte("left: n[1-2]\nright: pusher\n"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	racks, _, err := r.Of(hosts[:2])
	_, _, without := r.Of(hosts)
	if err != nil || !slices.Equal(racks, []int{0, 0}) || r.OfName("pusher.site") != "right" || read != 1 {
		t.Errorf("racks %v, %v; the pusher's is %q; it was read %d times", racks, err, r.OfName("pusher.site"), read)
	}
	if want := "bad racks: standard input gives no rack for h"; without == nil || without.Error() != want {
		t.Errorf("%v, want %s", without, want)
	}
}

func TestRacks(t *testing.T) {
	hosts, _ := Parse([]string{"n[1-4],h:[1-2]"}, none)
	read := files(map[string]string{
		"table": "# racks\nleft: n[1-2], N3 h\nn4 right\nh:2 right\n",
		"short": "a: n[1-2],h\nb: h:1\n",
		"twice": "a: n[1-4]\nb: h\nb: n4\n",
		"words": "one two three\n",
		"list":  "a: n[\n",
	})
	racks, names, err := racksFor(hosts, "table", read)
	if err != nil || !slices.Equal(racks, []int{0, 0, 0, 1, 0, 1}) || !slices.Equal(names, []string{"left", "right"}) {
		t.Errorf("%v, %v, %v", racks, names, err)
	}
	racks, names, err = racksFor(hosts, `^(n|h)`, read)
	if err != nil || !slices.Equal(racks, []int{0, 0, 0, 0, 1, 1}) || !slices.Equal(names, []string{"n", "h"}) {
		t.Errorf("%v, %v, %v", racks, names, err)
	}
	racks, names, err = racksFor(hosts, `[a-z]`, read)
	if err != nil || len(racks) != 6 || !slices.Equal(names, []string{"n", "h"}) {
		t.Errorf("%v, %v, %v", racks, names, err)
	}
	for spec, words := range map[string]string{
		"short": "no rack for n[3-4]", "twice": "n4 is in a and in b", "words": "words, line 1", "n([12])": "h:[1-2],n[3-4]", "(": "neither",
	} {
		if _, _, err := racksFor(hosts, spec, read); !errors.Is(err, ErrRacks) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %s", spec, err, words)
		}
	}
	if _, _, err := racksFor(hosts, "list", read); !errors.Is(err, ErrList) {
		t.Error(err)
	}
	if _, _, err := racksFor(hosts, "x", func(string) ([]byte, error) { return nil, fs.ErrPermission }); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, spec := range []string{"node[01-64],user@h:1", "^file", "-", "[::1]:7", "a[1-2]b[3,4-5]", "n[1-99999999]"} {
		f.Add(spec, "a: b\nc d # e\n")
	}
	f.Fuzz(func(t *testing.T, spec, text string) {
		read := func(string) ([]byte, error) { return []byte(text), nil }
		hosts, err := Parse([]string{spec}, read)
		if err != nil {
			return
		}
		if len(hosts) > MaxHosts {
			t.Fatalf("%d hosts", len(hosts))
		}
		if len(hosts) > 1000 {
			return
		}
		again, err := Parse([]string{Fold(strs(hosts))}, none)
		if err != nil || len(again) != len(hosts) {
			t.Errorf("%v folds to %s: %v", hosts, Fold(strs(hosts)), err)
		}
		racks, names, err := racksFor(hosts, "racks", read)
		if err == nil && (len(racks) != len(hosts) || len(racks) > 0 && slices.Max(racks) >= len(names)) {
			t.Errorf("racks %v of %v", racks, names)
		}
	})
}
