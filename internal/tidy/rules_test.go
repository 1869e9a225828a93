package tidy

import (
	"fmt"
	"strings"
	"testing"
)

// A ruleCase is a file and what tidy has to say about it.
type ruleCase struct {
	file   string
	source string // behind a package clause with a doc comment
	want   string // part of the only finding; "" if there must be none
}

func testRule(t *testing.T, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		f, err := parse(c.file, []byte("// Package p is for a test.\npackage p\n\n"+c.source))
		if err != nil {
			t.Fatal(err)
		}
		found := check([]*file{f})
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s is fine, but tidy found %v in:\n%s", c.file, found, c.source)
		case c.want != "" && (len(found) != 1 || !strings.Contains(found[0].Text, c.want)):
			t.Errorf("%s: tidy found %v, want one finding with %q in:\n%s", c.file, found, c.want, c.source)
		}
	}
}

func imports(paths ...string) string {
	var b strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&b, "import _ %q\n", strings.Replace(path, "weft/", module+"/", 1))
	}
	return b.String()
}

func TestImports(t *testing.T) {
	testRule(t, []ruleCase{
		{"clock/c.go", imports("time"), ""},
		{"clock/c.go", imports("weft/internal/ring"), "clock must not import"},
		{"quorum/q.go", imports("weft/clock"), "pure leaf"},
		{"quorum/q.go", imports("sync"), "quorum must not import sync"},
		{"internal/ring/r.go", imports("weft/internal/invariant", "sync"), ""},
		{"internal/ring/r.go", imports("golang.org/x/sys/unix"), "standard library only"},
		{"verbs/driver/d.go", imports("weft/clock"), ""},
		{"verbs/driver/d.go", imports("weft/verbs"), "must not import"},
		{"verbs/v.go", imports("weft/verbs/driver", "golang.org/x/sys/unix"), ""},
		{"verbs/v.go", imports("weft/provider/sim"), "must not pull in a provider"},
		{"verbs/v_test.go", imports("weft/provider/sim", "go.uber.org/goleak"), ""},
		{"verbs/v_test.go", imports("github.com/stretchr/testify/assert"), "must not import"},
		{"verbs/verbstest/v.go", imports("weft/verbs", "pgregory.net/rapid"), ""},
		{"verbs/verbstest/v.go", imports("weft/provider/soft"), "it may know none"},
		{"provider/sim/s.go", imports("weft/breakdown", "math/rand/v2"), ""},
		{"provider/soft/s.go", imports("weft/breakdown"), "must not import"},
		{"provider/soft/s.go", imports("weft/verbs"), "could not be exchanged"},
		{"provider/soft/s_test.go", imports("weft/verbs/verbstest"), ""},
		{"loop/l.go", imports("weft/verbs", "sync"), ""},
		{"loop/l.go", imports("weft/rdmc"), "knows no protocol"},
		{"rdmc/r.go", imports("weft/loop", "weft/rdmc/schedule", "time"), ""},
		{"rdmc/r.go", imports("weft/mu"), "must not import"},
		{"mu/m.go", imports("sync/atomic"), "must not import sync/atomic"},
		{"mu/m.go", imports("math/rand/v2"), "must not import math/rand/v2"},
		{"mu/m_test.go", imports("math/rand/v2", "os"), ""},
		{"kv/k.go", imports("weft/swarm", "net"), ""},
		{"kv/k.go", imports("weft/provider/sim"), "choice of a provider"},
		{"resp/r.go", imports("weft/kv"), "interface of its own"},
		{"cmd/weft/m.go", imports("weft/provider/sim", "github.com/spf13/cobra"), ""},
		{"newcomer/n.go", "", "has no layer"},
		{"internals/i.go", "", "package internals has no layer"}, // not below internal, though it begins so
	})
}

func TestCgo(t *testing.T) {
	testRule(t, []ruleCase{
		{"provider/ibv/native/i.go", "/*\nvoid f(void);\nf();\n*/\nimport \"C\"\n", ""},
		{"provider/soft/s.go", `import "C"`, `import "C" outside`},
	})
}

func TestGoroutines(t *testing.T) {
	const start = "func f() { go f() }"
	testRule(t, []ruleCase{
		{"loop/l.go", start, ""},
		{"provider/soft/tcp/t.go", start, ""},
		{"mu/m_test.go", start, ""},
		{"verbs/verbstest/v.go", start, ""},
		{"verbs/v.go", start, "a go statement starts a goroutine in verbs"},
		{"provider/sim/s.go", start, "starts a goroutine"},
		{"verbs/v.go", "import \"sync\"\n\nfunc f(g *sync.WaitGroup) { g.Go(func() {}) }", "a Go method starts"},
		{"verbs/v.go", "import \"time\"\n\nvar _ = time.AfterFunc(0, nil)", "time.AfterFunc starts"},
	})
}

func TestClocks(t *testing.T) {
	const look = "import \"time\"\n\nvar _ = time.Now()"
	testRule(t, []ruleCase{
		{"loop/l.go", look, ""},
		{"mu/m_test.go", look, ""},
		{"mu/m.go", "import \"time\"\n\nconst patience = 3 * time.Second", ""},
		{"mu/m.go", look, "time.Now in mu"},
		{"mu/m.go", "import wall \"time\"\n\nvar sleep = wall.Sleep", "time.Sleep in mu"},
		{"provider/sim/s.go", "import \"time\"\n\nvar c = time.After(1)", "time.After in provider/sim"},
	})
}

func TestPrints(t *testing.T) {
	const say = "import \"fmt\"\n\nfunc f() { fmt.Println(1) }"
	testRule(t, []ruleCase{
		{"cmd/weft/m.go", say, ""},
		{"bench/verbs/b.go", say, ""},
		{"verbs/v.go", say, "fmt.Println in verbs"},
		{"verbs/v_test.go", say, "fmt.Println in verbs"},
		{"verbs/example_test.go", say, ""},
		{"verbs/example.go", say, "fmt.Println in verbs"},
		{"verbs/v.go", "import \"fmt\"\n\nfunc f() string { return fmt.Sprint(1) }", ""},
		{"verbs/v.go", "func f() { println(1) }", "println in verbs"},
		{"verbs/v.go", "import \"log\"\n\nfunc f() { log.Fatal(1) }", "log.Fatal in verbs"},
		{"verbs/v.go", "import \"log/slog\"\n\nfunc f() { slog.Info(\"\") }", "slog.Info in verbs"},
		{"verbs/v.go", "import \"os\"\n\nvar w = os.Stderr", "os.Stderr in verbs"},
		{"verbs/v_test.go", "import \"os\"\n\nvar w = os.Stderr", ""},
	})
}

func TestUnfinished(t *testing.T) {
	for _, mark := range []string{"TODO", "FIXME", "XXX"} {
		testRule(t, []ruleCase{{"verbs/v.go", "// " + mark + "(me): later\nvar x int", mark}})
	}
	testRule(t, []ruleCase{
		{"verbs/v.go", "// MastODON and XXXL are words.\nvar x = \"TODO\"", ""},
	})
}

func TestDocs(t *testing.T) {
	testRule(t, []ruleCase{
		{"verbs/v.go", "func Open() {}", "Open has no doc comment"},
		{"verbs/v.go", "// Open opens.\nfunc Open() {}", ""},
		{"verbs/v.go", "//go:noinline\nfunc Open() {}", "Open has no doc comment"},
		{"verbs/v_test.go", "func TestOpen() {}", ""},
		{"verbs/v.go", "// T is.\ntype T struct{ F int }\n\nfunc (t *T) Close() {}", "T.Close has no doc comment"},
		{"verbs/v.go", "// T is.\ntype T[K any] int\n\nfunc (t *T[K]) Close() {}", "T.Close has no doc comment"},
		{"verbs/v.go", "// T is.\ntype T int\n\nfunc (t T) String() string { return \"\" }", ""},
		{"verbs/v.go", "type t int\n\nfunc (x t) Close() {}", ""},
		{"verbs/v.go", "type T int", "T has no doc comment"},
		{"verbs/v.go", "// Two types.\ntype (\n\tT int\n)", "T has no doc comment"},
		{"verbs/v.go", "// Names from elsewhere.\ntype (\n\tT = int\n)", ""},
		{"verbs/v.go", "const A = 1", "A has no doc comment"},
		{"verbs/v.go", "// The states.\nconst (\n\tA = 1\n\tB = 2\n)", ""},
		{"verbs/v.go", "var (\n\tA = 1 // one\n\t// B is two.\n\tB = 2\n)", ""},
		{"verbs/v.go", "var (\n\tA = 1 // one\n\tB = 2\n)", "B has no doc comment"},
	})
}

func TestPackageDocs(t *testing.T) {
	bare := mustParse(t, "verbs/a.go", "package verbs")
	if found := check([]*file{bare}); len(found) != 1 || !strings.Contains(found[0].Text, "package verbs has no doc") {
		t.Errorf("a package without a doc comment gave %v", found)
	}
	doc := mustParse(t, "verbs/z.go", "// Package verbs is.\npackage verbs")
	if found := check([]*file{bare, doc}); len(found) != 0 {
		t.Errorf("one file explains the package, but tidy found %v", found)
	}
}

func mustParse(t *testing.T, name, source string) *file {
	t.Helper()
	f, err := parse(name, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSizes(t *testing.T) {
	function := func(lines int) string { return "func f() {" + strings.Repeat("\n", lines-1) + "}\n" }
	const head = 3 // lines that testRule puts in front
	testRule(t, []ruleCase{
		{"verbs/v.go", function(maxFunction), ""},
		{"verbs/v.go", function(maxFunction + 1), "f has 71 lines"},
		{"verbs/v.go", strings.Repeat("\n", maxFile-head), ""},
		{"verbs/v.go", strings.Repeat("\n", maxFile-head+1), "the file has 601 lines"},
	})
}
