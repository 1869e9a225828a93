package tidy

import (
	"go/ast"
	"go/token"
	"strings"
)

// mayPrint is who talks to people.
var mayPrint = words("cmd/... examples/... bench/... rig/...")

// checkPrints reports output that was left over from debugging.
func checkPrints(f *file, report report) {
	if matches(mayPrint, f.pkg) {
		return
	}
	examples := exampleFuncs(f)
	found := func(at token.Pos, name string) {
		if !examples.contain(at) {
			report(at, "%s in %s: a library returns errors and leaves talking to the command", name, f.pkg)
		}
	}
	checkUses(f, "fmt", words("Print Printf Println"), func(at token.Pos, name string) { found(at, "fmt."+name) })
	logs := words("Print Printf Println Fatal Fatalf Fatalln Panic Panicf Panicln")
	checkUses(f, "log", logs, func(at token.Pos, name string) { found(at, "log."+name) })
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
				found(call.Pos(), name.Name)
			}
		}
		return true
	})
}

// spans are the pieces of a file that hold some declarations.
type spans []ast.Node

// exampleFuncs returns the functions that the testing package runs as examples: printing is their job.
func exampleFuncs(f *file) spans {
	var found spans
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && f.test && strings.HasPrefix(fn.Name.Name, "Example") {
			found = append(found, fn)
		}
	}
	return found
}

func (s spans) contain(at token.Pos) bool {
	for _, n := range s {
		if n.Pos() <= at && at < n.End() {
			return true
		}
	}
	return false
}
