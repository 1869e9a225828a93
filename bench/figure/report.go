package figure

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
)

//go:embed report.html
var pageText string

var pageTemplate = template.Must(template.New("report").Parse(pageText))

// page is what the template shows.
type page struct {
	Title    string
	About    []string
	Summary  string
	Misses   []Miss
	Sections []section
}

// section is a figure on the page.
type section struct {
	*Figure
	ID       string
	Drawings []drawing
	Right    []bool // of each column of the table: it has numbers
}

// drawing is an SVG that stands in the page.
type drawing struct {
	SVG  template.HTML
	Same bool // its title is that of the figure, and need not be said twice
}

// Report writes one HTML page with all figures, which needs nothing but itself: no network, no script. About are lines that
// say what it is about: the machine, the time, the command.
func Report(w io.Writer, title string, about []string, figures []*Figure) error {
	if len(figures) > MaxFigures {
		return fmt.Errorf("%d figures are too many for a page: up to %d", len(figures), MaxFigures)
	}
	p := page{Title: title, About: about, Summary: Summary(figures), Misses: Misses(figures)}
	names := unique{}
	for _, f := range figures {
		s, err := sectionOf(f, names.next(f.Name))
		if err != nil {
			return err
		}
		p.Sections = append(p.Sections, s)
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

func sectionOf(f *Figure, id string) (section, error) {
	s := section{Figure: f, ID: id}
	if err := f.Validate(); err != nil {
		return s, err
	}
	for _, d := range f.drawings() {
		var svg bytes.Buffer
		if err := d.WriteSVG(&svg); err != nil {
			return s, err
		}
		// Package plot has escaped all text in it.
		s.Drawings = append(s.Drawings, drawing{template.HTML(svg.String()), d.title == f.Title})
	}
	if f.Table != nil {
		for i := range f.Table.Columns {
			s.Right = append(s.Right, f.Table.numeric(i))
		}
	}
	return s, nil
}
