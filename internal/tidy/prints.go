package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
)

// mayPrint is who talks to people.
var mayPrint = words("cmd/... examples/... bench/... rig/... internal/leak/leaktest")

// checkPrints reports output that was left over from debugging.
func checkPrints(f *file, report report) {
	if matches(mayPrint, f.pkg) || isExample(f) {
		return
	}
	found := func(at token.Pos, name string) {
		report(at, "%s in %s: a library returns errors and leaves talking to the command", name, f.pkg)
	}
	checkUses(f, "fmt", words("Print Printf Println"), func(at token.Pos, name string) { found(at, "fmt."+name) })
	logs := words("Print Printf Println Fatal Fatalf Fatalln Panic Panicf Panicln")
	checkUses(f, "log", logs, func(at token.Pos, name string) { found(at, "log."+name) })
	checkUses(f, "log/slog", words("Debug Info Warn Error"), func(at token.Pos, name string) { found(at, "slog."+name) })
	if !f.test {
		checkUses(f, "os", words("Stdout Stderr"), func(at token.Pos, name string) { found(at, "os."+name) })
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
				found(call.Pos(), name.Name)
			}
		}
		return true
	})
}

// isExample reports whether a file holds examples for the documentation: they print, and show what a program would do
// with an error.
func isExample(f *file) bool { return f.test && strings.HasPrefix(path.Base(f.name), "example") }
