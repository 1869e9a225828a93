package tidy

import "testing"

func TestDeadCode(t *testing.T) {
	for _, line := range []string{
		"x := f()", "q.head = 0", "q.post(list)", "post(list); q.flush()", "defer q.Close()", "n += 2", "count++",
		"if err != nil {", "for range 10 {", "switch op {", "return q.ring[i]",
		"func (q *QueuePair) flush() {", "type ring struct {", "const depth = 16", `import "fmt"`, "var names [4]string",
		"if n == 0 { return nil }",
	} {
		if !isCode(line) {
			t.Errorf("%q does not count as code", line)
		}
	}
}

func TestProseIsNotDeadCode(t *testing.T) {
	for _, line := range []string{
		"", "one", "return early", "type the name", "go on", "Invariant: head <= tail", "Invariant: f(x)",
		"n = ceil(log2(k))", "a[i] = b[i-1]", "x == y", "Close frees everything (and waits).", "see Post(list).",
		"0 <= i && i < len(list)", "(so it is)", "[Device]", "the peer's end = ours", "New → Ready", "{a, b}", "C++.",
		`"soft", "sim", …: for people`, "- x := f()", "go:noinline", "// twice (a comment)", "Wait(until) returns",
	} {
		if isCode(line) {
			t.Errorf("%q counts as code", line)
		}
	}
}

func TestWhereDeadCodeIsLookedFor(t *testing.T) {
	testRule(t, []ruleCase{
		{"verbs/v.go", "func f() {\n\t// x := f()\n}", `commented-out code: "x := f()"`},
		{"verbs/v.go", "func f() {\n\t//\tx := f()\n}", "commented-out code"},
		{"verbs/v.go", "/*\nfunc f() {\n}\n*/", "commented-out code"},
		{"verbs/v.go", "// f does it:\n//\n//\tx := f()\n//\tx.g()\nfunc f() {}", ""},
		{"verbs/v.go", "// f does it.\n// x := f()\nfunc f() {}", "commented-out code"},
		{"verbs/v.go", "var x = g() // h(x)", ""},
		{"verbs/v.go", "// Nothing yet.\nvar ()", ""},
		{"verbs/v_test.go", "func ExampleF() {\n\t// Output:\n\t// f(x)\n}", ""},
	})
}
