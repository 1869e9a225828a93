package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	got, err := parseList("# people\n\n./a -test.run=^X -test.short\n\tskip TestX/y|TestZ  has  no\n  ./b/c machines=2\t\nkernel rxe9: gone\n")
	want := []entry{
		{pkg: "./a", machines: 1, flags: []string{"-test.run=^X", "-test.short"}, skips: []skip{{"TestX/y|TestZ", "has no"}}},
		{pkg: "./b/c", machines: 2, kernel: []string{"rxe9: gone"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestBuildEverythingFirst has one binary for a package, whatever the number of machines that its lines want.
func TestBuildEverythingFirst(t *testing.T) {
	folder, tree := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\necho $5 >>" + tree + "/built; touch $4\n"
	if err := os.WriteFile(filepath.Join(tree, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GO", filepath.Join(tree, "go"))
	jobs, err := build(t.Context(), []entry{{pkg: "./a", machines: 1}, {pkg: "./a", machines: 2}, {pkg: "./b", machines: 2}}, tree, folder)
	if err != nil {
		t.Fatal(err)
	}
	if built, _ := os.ReadFile(filepath.Join(tree, "built")); string(built) != "./a\n./b\n" {
		t.Errorf("built were %q", built)
	}
	one, two := forMachines(jobs, 1), forMachines(jobs, 2)
	if len(one) != 1 || len(two) != 2 || one[0].Binary != two[0].Binary || one[0].Binary == two[1].Binary {
		t.Errorf("for one machine %v, for two %v", one, two)
	}
}

func TestBadLists(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "no entry",
		"# only people\n":               "no entry",
		"./a\nb\n":                      `line 2: "b" is no package`,
		"./a machines=3":                `line 1: "machines=3" is neither`,
		"./a -run=X":                    `line 1: "-run=X" is neither`,
		strings.Repeat("./a\n", 101):    "line 101: there are more than 100",
		strings.Repeat("#", maxList+10): "bytes, more than",
		"skip TestX no\n./a":            `line 1: "skip" belongs below the package`,
		"./a\nskip TestX":               "line 2: skip needs a pattern",
		"./a\nskip Test( no":            "line 2: skip Test(: error parsing regexp",
		"./a\nkernel":                   "line 2: kernel needs a part",
		"./a\n" + strings.Repeat("kernel x\n", 101): "line 102: ./a has more than 100 lines",
	} {
		if _, err := parseList(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, not %s", text, err, want)
		}
	}
}

// TestOurList reads the list that make test-roce uses.
func TestOurList(t *testing.T) {
	text, err := os.ReadFile("tests.list")
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseList(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if _, err := os.Stat("../../" + e.pkg); err != nil {
			t.Errorf("%s: %v", e.pkg, err)
		}
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("./a machines=2 -test.run=X\n#\nskip T.* no\nkernel x")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseList(text)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%d entries, %v", len(list), err)
		}
		for _, e := range list {
			if !strings.HasPrefix(e.pkg, "./") || e.machines < 1 || e.machines > 2 {
				t.Errorf("%+v", e)
			}
		}
	})
}
