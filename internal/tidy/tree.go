package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// file is one parsed source file.
type file struct {
	name  string // path below the root of the module, with slashes
	pkg   string // directory of name: "verbs/driver"; "." at the root
	test  bool   // a _test.go file
	lines []string
	set   *token.FileSet
	tree  *ast.File
}

// parse reads one file. Build constraints do not matter: the rules hold for every platform.
func parse(name string, source []byte) (*file, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("tidy: %w", err)
	}
	return &file{
		name:  name,
		pkg:   path.Dir(name),
		test:  strings.HasSuffix(name, "_test.go"),
		lines: strings.Split(string(source), "\n"),
		set:   set,
		tree:  tree,
	}, nil
}

func (f *file) line(at token.Pos) int { return f.set.Position(at).Line }

// load parses the Go files of the module at root.
func load(root string) ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, full, entry.Name())
		}
		if filepath.Ext(full) != ".go" {
			return nil
		}
		f, err := loadFile(root, full)
		files = append(files, f)
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("tidy: no Go file below %s", root)
	}
	return files, err
}

// enter answers fs.SkipDir for directories that Go ignores too, and for modules of their own.
func enter(root, full, name string) error {
	if full == root {
		return nil
	}
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(full, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func loadFile(root, full string) (*file, error) {
	source, err := os.ReadFile(full)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(root, full)
	if err != nil {
		return nil, err
	}
	return parse(filepath.ToSlash(name), source)
}
