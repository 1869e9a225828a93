package figure

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-fabric/weft/internal/plot"
)

// ErrPath is what CheckPath fails with if a file cannot be what is asked for.
var ErrPath = errors.New("write FILE.svg for a drawing, FILE.html for a page, or a directory for a drawing of each")

// CheckPath says early that Draw will not be able to write. A name that begins with a dash is a flag, or means the standard
// output elsewhere, and would be a directory here.
func CheckPath(path string) error {
	if ext := strings.ToLower(filepath.Ext(path)); path == "" || strings.HasPrefix(path, "-") || ext != "" && ext != ".svg" && ext != ".html" && !isDirectory(path) {
		return fmt.Errorf("%q: %w", path, ErrPath)
	}
	if dir := filepath.Dir(path); !isDirectory(dir) {
		return fmt.Errorf("%q: there is no directory %s", path, dir)
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Draw writes figures to a file: all drawings below each other if it is named .svg, a report if it is named .html; else it is a
// directory, and gets a file for each drawing.
func Draw(path, title string, about []string, figures ...*Figure) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	var out bytes.Buffer
	switch strings.ToLower(filepath.Ext(path)) {
	case ".html":
		if err := Report(&out, title, about, figures); err != nil {
			return err
		}
	case ".svg":
		if err := drawAll(&out, figures); err != nil {
			return err
		}
	default:
		return DrawEach(path, figures)
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func drawAll(out *bytes.Buffer, figures []*Figure) error {
	var all []plot.Drawing
	for _, f := range figures {
		for _, d := range f.drawings() {
			all = append(all, d.Drawing)
		}
	}
	if len(all) == 0 {
		return errors.New("there is nothing to draw: these figures are tables only, which FILE.html shows")
	}
	return plot.WriteAll(out, all...)
}

// DrawEach writes each drawing to a file of its own in a directory, named after its figure: fig4a.svg, and fig4a-2.svg for the
// second.
func DrawEach(dir string, figures []*Figure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names := unique{}
	for _, f := range figures {
		if err := f.Validate(); err != nil {
			return err
		}
		for _, d := range f.drawings() {
			var out bytes.Buffer
			if err := d.WriteSVG(&out); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, names.next(f.Name)+".svg"), out.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// unique are names that are taken.
type unique map[string]bool

// next is the name itself, or with a number behind it if it is taken.
func (u unique) next(name string) string {
	free := name
	for i := 2; u[free]; i++ {
		free = fmt.Sprintf("%s-%d", name, i)
	}
	u[free] = true
	return free
}
