package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// checkDeadCode reports code in comments. Only comments that stand alone on their line are looked at: what stands
// behind a statement explains it, perhaps by a formula.
func checkDeadCode(f *file, report report) {
	prose := proseGroups(f)
	for _, group := range f.tree.Comments {
		kind := prose[group]
		if kind == notGo || !f.standsAlone(group) {
			continue
		}
		for _, c := range group.List {
			if line := deadLine(c.Text, kind == docs); line != "" {
				report(c.Pos(), "commented-out code: %q; version control remembers it", line)
			}
		}
	}
}

// groupKind is what a group of comments is for.
type groupKind uint8

const (
	plain groupKind = iota // within or between declarations
	docs                   // in front of something: indented lines are examples
	notGo                  // cgo's preamble, or the expected output of an example
)

// proseGroups tells the groups apart that are not plain.
func proseGroups(f *file) map[*ast.CommentGroup]groupKind {
	kinds := map[*ast.CommentGroup]groupKind{f.tree.Doc: docs}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			kinds[n.Doc] = docs
		case *ast.GenDecl:
			kinds[n.Doc] = docs
			if isCgo(n) {
				kinds[n.Doc] = notGo
			}
		case *ast.TypeSpec:
			kinds[n.Doc] = docs
		case *ast.ValueSpec:
			kinds[n.Doc] = docs
		case *ast.Field:
			kinds[n.Doc] = docs
		}
		return true
	})
	for _, group := range f.tree.Comments {
		if text := strings.ToLower(group.Text()); f.test && strings.Contains(text, "output:") {
			kinds[group] = notGo
		}
	}
	return kinds
}

func isCgo(d *ast.GenDecl) bool {
	if d.Tok != token.IMPORT || len(d.Specs) == 0 {
		return false
	}
	return importPath(d.Specs[0].(*ast.ImportSpec)) == "C"
}

// standsAlone reports whether nothing but space is in front of a group.
func (f *file) standsAlone(group *ast.CommentGroup) bool {
	at := f.set.Position(group.Pos())
	return strings.TrimSpace(f.lines[at.Line-1][:at.Column-1]) == ""
}

// deadLine returns the first line of a comment that is code, or "". In a doc comment, indented lines are examples.
func deadLine(comment string, doc bool) string {
	comment = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(comment, "//"), "/*"), "*/")
	for line := range strings.Lines(comment) {
		line = strings.TrimSuffix(strings.TrimPrefix(line, " "), "\n")
		if doc && (strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ")) {
			continue
		}
		if isCode(strings.TrimSpace(line)) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// isCode reports whether a line of a comment is a Go statement or declaration. A sentence can be one by chance ("return
// early"), so something that sentences lack has to be in it too.
func isCode(line string) bool {
	if !strings.ContainsAny(line, "=({[\"") && !strings.HasSuffix(line, "++") {
		return false
	}
	if strings.HasSuffix(line, "{") {
		line += "}" // the first line of a block
	}
	if tree := parseText("package p\n" + line); tree != nil && len(tree.Decls) > 0 {
		return true
	}
	tree := parseText("package p\nfunc _() {\n" + line + "\n}")
	if tree == nil {
		return false
	}
	list := tree.Decls[0].(*ast.FuncDecl).Body.List
	return len(list) > 0 && !slices.ContainsFunc(list, func(s ast.Stmt) bool { return !isStatement(s) })
}

// parseText parses a file, and returns nil for what is not Go.
func parseText(source string) *ast.File {
	tree, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	return tree
}

// isStatement reports whether s is what people comment out, and not a formula or a label in front of a sentence.
func isStatement(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		_, name := s.Lhs[0].(*ast.Ident)
		_, field := s.Lhs[0].(*ast.SelectorExpr)
		return field || name && s.Tok != token.ASSIGN
	case *ast.ExprStmt:
		_, call := s.X.(*ast.CallExpr)
		return call
	case *ast.ReturnStmt:
		return len(s.Results) > 0
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt,
		*ast.GoStmt, *ast.DeferStmt, *ast.DeclStmt, *ast.IncDecStmt:
		return true
	}
	return false
}
