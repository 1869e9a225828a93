package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/figure"
)

// benchReportOptions are the flags of weft bench report.
type benchReportOptions struct {
	html, svg, markdown, title string
}

func newBenchReport() *cobra.Command {
	o := &benchReportOptions{}
	cmd := &cobra.Command{
		Use:   "report FILE.json...",
		Short: "Put recorded runs on one page: every figure with its claims and numbers",
		Long: `Reads runs that were recorded with --out FILE.json, and prints how many
claims hold. With --html it writes one page that needs nothing but itself: it
opens from disk, without a network, and prints well. With --svg it writes each
drawing to a file of its own, and with --markdown a document that shows them.

Exit status 0 also if claims do not hold: the page says so.`,
		Example: `  weft bench report bench/results/multicast.json --html report.html
  weft bench report a.json b.json --html both.html --svg figures --markdown both.md`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.html, "html", "", "write the page to `FILE`.html")
	f.StringVar(&o.svg, "svg", "", "write each drawing into `DIR`")
	f.StringVar(&o.markdown, "markdown", "", "write a document that shows the drawings of --svg to `FILE`.md")
	f.StringVar(&o.title, "title", "Weft: what was measured", "`TEXT` above the page")
	return cmd
}

func (o *benchReportOptions) run(cmd *cobra.Command, paths []string) error {
	if err := o.check(paths); err != nil {
		return usageError{err}
	}
	var records []*figure.Record
	for _, path := range paths {
		r, err := figure.Load(path)
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	about, figures := figure.Page(paths, records)
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
		if err := o.document(about, figures); err != nil {
			return err
		}
	}
	return o.tell(cmd, figures)
}

// document writes the Markdown, with the way from there to the drawings.
func (o *benchReportOptions) document(about []string, figures []*figure.Figure) error {
	images, err := filepath.Rel(filepath.Dir(o.markdown), o.svg)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := figure.Markdown(&out, o.title, about, figures, filepath.ToSlash(images)); err != nil {
		return err
	}
	return os.WriteFile(o.markdown, out.Bytes(), 0o644)
}

func (o *benchReportOptions) check(paths []string) error {
	switch {
	case len(paths) == 0:
		return errors.New("which runs? Name the files that they were recorded in: weft bench report FILE.json --html FILE.html")
	case o.html == "" && o.svg == "":
		return errors.New("where to? Say --html FILE.html, or --svg DIR")
	case o.markdown != "" && o.svg == "":
		return errors.New("--markdown shows drawings: say --svg DIR, too")
	case o.html != "" && !strings.EqualFold(filepath.Ext(o.html), ".html"):
		return fmt.Errorf("--html %s: the name of a page ends in .html", o.html)
	}
	if o.html == "" {
		return nil
	}
	if err := figure.CheckPath(o.html); err != nil {
		return fmt.Errorf("--html %w", err)
	}
	return nil
}

// tell says what is on the page, and which claims do not hold.
func (o *benchReportOptions) tell(cmd *cobra.Command, figures []*figure.Figure) error {
	_, err := fmt.Fprintln(cmd.OutOrStdout(), figure.Summary(figures))
	for _, f := range figures {
		for _, c := range f.Claims {
			if !c.Holds && err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "✗ %s: %s: %s\n", f.Name, c.Text, c.Measured)
			}
		}
	}
	return err
}
