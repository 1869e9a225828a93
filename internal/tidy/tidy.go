// Package tidy holds the rules of this source tree that a compiler does not know: who may import whom, where goroutines
// may live, what has to be documented, and how long things may get. Its test reads the tree and fails with a line for
// each violation, so the rules hold without anyone having to remember them.
//
// There is no way to switch a rule off for one line. Where a rule is wrong, its table changes, with a reason.
package tidy

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
)

// Finding is one violation.
type Finding struct {
	File string // path below the root, with slashes
	Line int
	Text string // what is wrong, and why that matters
}

// String prints the finding as compilers do.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text) }

// Check reads every Go file below root and returns the violations, in the order of files and lines.
func Check(root string) ([]Finding, error) {
	files, err := load(root)
	if err != nil {
		return nil, err
	}
	return check(files), nil
}

// A rule looks at one file.
type rule func(*file, report)

// A report takes one violation that a rule has found.
type report func(at token.Pos, format string, args ...any)

var rules = []rule{
	checkImports, checkCgo, checkGoroutines, checkClocks, checkPrints,
	checkUnfinished, checkDeadCode, checkDocs, checkSizes,
}

func check(files []*file) []Finding {
	var found []Finding
	for _, f := range files {
		for _, look := range rules {
			look(f, func(at token.Pos, format string, args ...any) {
				found = append(found, Finding{f.name, f.line(at), fmt.Sprintf(format, args...)})
			})
		}
	}
	found = append(found, checkPackageDocs(files)...)
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return found
}
