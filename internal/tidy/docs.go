package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// selfExplaining methods have a meaning that every Go programmer knows.
var selfExplaining = words("String Error Unwrap")

// checkDocs reports exported names without a doc comment.
func checkDocs(f *file, report report) {
	if f.test || f.tree.Name.Name == "main" {
		return
	}
	missing := func(at token.Pos, name string) {
		report(at, "%s has no doc comment: it is exported, so somebody has to understand it without its body", name)
	}
	for _, d := range f.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name := publicName(d); name != "" && !hasText(d.Doc) {
				missing(d.Pos(), name)
			}
		case *ast.GenDecl:
			checkGroupDocs(d, missing)
		}
	}
}

// checkGroupDocs looks at a declaration of types, constants or variables. One comment may speak for a whole group of
// values, and of names for types that are declared elsewhere.
func checkGroupDocs(d *ast.GenDecl, missing func(at token.Pos, name string)) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			shared := !d.Lparen.IsValid() || s.Assign.IsValid()
			if s.Name.IsExported() && !hasText(s.Doc) && !(shared && hasText(d.Doc)) {
				missing(s.Pos(), s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && !hasText(s.Doc) && !hasText(s.Comment) && !hasText(d.Doc) {
					missing(name.Pos(), name.Name)
				}
			}
		}
	}
}

// publicName returns the name of a function or method that other packages can call, or "".
func publicName(d *ast.FuncDecl) string {
	name := d.Name.Name
	if !d.Name.IsExported() {
		return ""
	}
	if d.Recv == nil {
		return name
	}
	of := receiver(d.Recv.List[0].Type)
	if !ast.IsExported(of) || matches(selfExplaining, name) {
		return ""
	}
	return of + "." + name
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	panic(fmt.Sprintf("tidy: the parser let a receiver of type %T pass", t))
}

// hasText reports whether a comment says something; compiler directives do not.
func hasText(group *ast.CommentGroup) bool { return strings.TrimSpace(group.Text()) != "" }

// checkPackageDocs reports packages of which no file says what they are for.
func checkPackageDocs(files []*file) []Finding {
	first := make(map[string]*file) // of each package that has not been explained yet
	explained := make(map[string]bool)
	for _, f := range files {
		if f.test {
			continue
		}
		if first[f.pkg] == nil {
			first[f.pkg] = f
		}
		explained[f.pkg] = explained[f.pkg] || hasText(f.tree.Doc)
	}
	var found []Finding
	for pkg, f := range first {
		if !explained[pkg] {
			found = append(found, Finding{f.name, f.line(f.tree.Package), fmt.Sprintf("package %s has no doc comment", pkg)})
		}
	}
	return found
}
