package tidy

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTree is the reason for this package: the tree it stands in follows the rules.
func TestTree(t *testing.T) {
	found, err := Check("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

func TestAnEmptyTreeIsAnError(t *testing.T) {
	if _, err := Check(t.TempDir()); err == nil {
		t.Error("a tree without Go files passed")
	}
}

func TestWhatGoIgnoresIsIgnored(t *testing.T) {
	root := t.TempDir()
	write(t, root, "clock/clock.go", "// Package clock is.\npackage clock\n")
	for _, dir := range []string{"testdata", "vendor/v", ".hidden", "_old"} {
		write(t, root, dir+"/broken.go", "this is not Go")
	}
	write(t, root, "tools/go.mod", "module tools\n")
	write(t, root, "tools/broken.go", "this is not Go")
	if found, err := Check(root); err != nil || len(found) > 0 {
		t.Errorf("tidy looked where it should not: %v, %v", found, err)
	}
	write(t, root, "clock/broken.go", "this is not Go")
	if _, err := Check(root); err == nil {
		t.Error("a file that does not parse passed")
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
