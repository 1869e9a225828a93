package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	got, err := parseList("# people\n\n./a -test.run=^X -test.short\n  ./b/c machines=2\t\n")
	want := []entry{{"./a", 1, []string{"-test.run=^X", "-test.short"}}, {"./b/c", 2, nil}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if two := forMachines(got, 2); len(two) != 1 || two[0].pkg != "./b/c" {
		t.Errorf("for two machines: %v", two)
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
	f.Add("./a machines=2 -test.run=X\n#\n")
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
