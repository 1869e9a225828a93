package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/printable"
)

// benchReportOptions are the flags of weft bench report.
type benchReportOptions struct {
	html, svg, markdown, title, about string
}

func newBenchReport() *cobra.Command {
	o := &benchReportOptions{}
	cmd := &cobra.Command{
		Use:   "report FILE.json...",
		Short: "Show recorded runs: every figure with its claims and numbers",
		Long: `Reads runs that were recorded with --out FILE.json, and prints their tables, how
many claims hold, and which do not. With --html it writes one page instead that
needs nothing but itself: it opens from disk, without network, and prints well.
With --svg it writes each drawing to a file of its own, and with --markdown a
document, which shows the drawings of --svg if that is said too.

Exit status 0 also if claims do not hold: nothing is measured here.`,
		Example: `  weft bench report bench/results/multicast.json
  weft bench report a.json b.json --html both.html
  weft bench report a.json b.json --svg figures --markdown both.md`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.html, "html", "", "write one page to `FILE`.html")
	f.StringVar(&o.svg, "svg", "", "write each drawing into `DIR`")
	f.StringVar(&o.markdown, "markdown", "", "write a document to `FILE`.md; with --svg it shows the drawings")
	f.StringVar(&o.title, "title", "Weft: what was measured", "`TEXT` above the page")
	f.StringVar(&o.about, "about", "", "`TEXT` about all runs together, such as how to repeat them")
	return cmd
}

func (o *benchReportOptions) run(cmd *cobra.Command, paths []string) error {
	runs, err := statRuns(paths)
	if err != nil {
		return err
	}
	if err := o.check(runs); err != nil {
		return usageError{err}
	}
	records, err := loadRuns(paths)
	if err != nil {
		return err
	}
	about, figures := figure.Page(paths, records)
	if o.about != "" {
		about = append([]string{o.about}, about...)
	}
	if err := o.write(about, figures); err != nil {
		return err
	}
	return o.tell(cmd, about, figures)
}

// statRuns looks at all runs before anything is read: each is named once, and none is a pipe that nobody may ever write to.
func statRuns(paths []string) (runs []os.FileInfo, err error) {
	if len(paths) == 0 {
		return nil, usageError{errors.New("which runs? Name the files that they were recorded in: weft bench report FILE.json")}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if isPipe(info) && !strings.HasPrefix(path, "/dev/") { // those of a shell have somebody at the other end
			return nil, usageError{fmt.Errorf("%s is a named pipe: name a file", path)}
		}
		if i := sameAs(info, runs); i >= 0 {
			return nil, usageError{fmt.Errorf("%s and %s are the same file: name each run once", paths[i], path)}
		}
		runs = append(runs, info)
	}
	return runs, nil
}

func isPipe(info os.FileInfo) bool { return info.Mode()&os.ModeNamedPipe != 0 }

// sameAs is the index of a file among others, or -1.
func sameAs(info os.FileInfo, others []os.FileInfo) int {
	return slices.IndexFunc(others, func(other os.FileInfo) bool { return os.SameFile(info, other) })
}

// loadRuns reads all runs before anything is written.
func loadRuns(paths []string) (records []*figure.Record, err error) {
	for _, path := range paths {
		r, err := figure.Load(path)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// check says what could not be written.
func (o *benchReportOptions) check(runs []os.FileInfo) error {
	for what, text := range map[string]string{"--title": o.title, "--about": o.about} {
		if err := printable.Check(what, text, maxReportText); err != nil {
			return err
		}
	}
	for _, c := range []struct{ flag, path, ext, what string }{{"--html", o.html, ".html", "page"}, {"--markdown", o.markdown, ".md", "document"}} {
		if err := checkOutput(c.flag, c.path, c.ext, c.what, runs); err != nil {
			return err
		}
	}
	if _, err := os.Stat(o.svg); o.svg != "" && err == nil && !isDirectory(o.svg) {
		return fmt.Errorf("--svg %s is a file: name a directory", o.svg)
	}
	return nil
}

// maxReportText bounds what stands above a page, in bytes.
const maxReportText = 1000

// checkOutput says why a file cannot be written: it must not be one of the runs, either.
func checkOutput(flag, path, ext, what string, runs []os.FileInfo) error {
	if path == "" {
		return nil
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(path)
	switch {
	case !strings.EqualFold(filepath.Ext(path), ext):
		return fmt.Errorf("%s %s: the name of a %s ends in %s", flag, path, what, ext)
	case !isDirectory(dir):
		return fmt.Errorf("%s %s: there is no directory %s", flag, path, dir)
	case err == nil && sameAs(info, runs) >= 0:
		return fmt.Errorf("%s %s is one of the runs: name another file", flag, path)
	case err == nil && isPipe(info):
		return fmt.Errorf("%s %s is a named pipe: name a file", flag, path)
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// write writes what was asked for.
func (o *benchReportOptions) write(about []string, figures []*figure.Figure) error {
	if o.svg != "" {
		if err := figure.DrawEach(o.svg, figures); err != nil {
			return err
		}
	}
	if o.html != "" {
		if err := figure.Draw(o.html, o.title, about, figures...); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		return o.document(about, figures)
	}
	return nil
}

// document writes the Markdown, with the way from there to the drawings if there are any.
func (o *benchReportOptions) document(about []string, figures []*figure.Figure) error {
	images := ""
	if o.svg != "" {
		way, err := filepath.Rel(filepath.Dir(o.markdown), o.svg)
		if err != nil {
			return err
		}
		images = filepath.ToSlash(way)
	}
	var out bytes.Buffer
	if err := figure.Markdown(&out, o.title, about, figures, images); err != nil {
		return err
	}
	return os.WriteFile(o.markdown, out.Bytes(), 0o644)
}

// tell prints the tables if nothing is written, and says which claims do not hold.
func (o *benchReportOptions) tell(cmd *cobra.Command, about []string, figures []*figure.Figure) error {
	out := cmd.OutOrStdout()
	var said strings.Builder
	if o.html == "" && o.svg == "" && o.markdown == "" {
		if err := figure.PrintAll(out, about, figures); err != nil {
			return err
		}
		fmt.Fprintln(&said)
	}
	if summary := figure.Summary(figures); summary != "" {
		fmt.Fprintln(&said, summary)
	}
	for _, m := range figure.Misses(figures) {
		fmt.Fprintf(&said, "✗ %v\n", m)
	}
	_, err := io.WriteString(out, said.String())
	return err
}
