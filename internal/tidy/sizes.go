package tidy

import "go/ast"

// Limits, in lines. Most functions have ten and most files two hundred; what comes near these should be cut before.
const (
	maxFunction = 70
	maxFile     = 600
)

// checkSizes reports functions and files that do not fit into a head.
func checkSizes(f *file, report report) {
	if n := f.line(f.tree.FileEnd); n > maxFile {
		report(f.tree.Package, "the file has %d lines, more than %d: one idea a file", n, maxFile)
	}
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > maxFunction {
			report(fn.Pos(), "%s has %d lines, more than %d: name its steps", fn.Name.Name, n, maxFunction)
		}
	}
}
