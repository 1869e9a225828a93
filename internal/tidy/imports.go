package tidy

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// module is the path of this module, in front of every import of its own packages.
const module = "github.com/weft-fabric/weft"

// checkImports holds the files to their layer.
func checkImports(f *file, report report) {
	own := layerOf(f.pkg)
	if own == nil {
		report(f.tree.Package, "package %s has no layer: add it to layers, with a reason", f.pkg)
		return
	}
	for _, spec := range f.tree.Imports {
		path := importPath(spec)
		if !own.allows(f, path) {
			report(spec.Pos(), "%s must not import %s: %s", f.pkg, path, own.reason)
		}
	}
}

// allows reports whether a file of the layer may import path.
func (l *layer) allows(f *file, path string) bool {
	if isStandard(path) {
		return f.test || !matches(l.never, path)
	}
	path = strings.TrimPrefix(path, module+"/")
	return matches(l.may, path) || path == f.pkg || f.test && matches(forTests, path)
}

// isStandard reports whether path is of the standard library: the first element of all others is a host's name.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// mayUseC is where Go meets libibverbs.
var mayUseC = words("provider/ibv/native")

// checkCgo keeps C in one place, so that everything else builds without a C compiler.
func checkCgo(f *file, report report) {
	for _, spec := range f.tree.Imports {
		if importPath(spec) == "C" && !matches(mayUseC, f.pkg) {
			report(spec.Pos(), `import "C" outside %s: the rest must build without a C compiler`, mayUseC)
		}
	}
}

func importPath(spec *ast.ImportSpec) string {
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic("tidy: the parser let a bad import pass: " + spec.Path.Value)
	}
	return path
}

// importName returns the name under which a file uses a package, or "" if it does not import it by a name.
func importName(f *file, path string) string {
	for _, spec := range f.tree.Imports {
		if importPath(spec) != path {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}

// checkUses reports every use of names from the package at path, called or not.
func checkUses(f *file, path string, names []string, found func(at token.Pos, name string)) {
	pkg := importName(f, path)
	if pkg == "" {
		return
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := use.X.(*ast.Ident); ok && x.Name == pkg && matches(names, use.Sel.Name) {
			found(use.Pos(), use.Sel.Name)
		}
		return true
	})
}
