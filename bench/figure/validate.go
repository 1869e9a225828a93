package figure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/internal/printable"
)

// Limits of what is printed, kept and put on a page.
const (
	MaxFigures  = 500 // of a record, or on a page
	MaxDrawings = 50  // of a figure
	MaxClaims   = 200
	MaxNotes    = 200
	MaxColumns  = 50 // of a table
	MaxRows     = 5000
	MaxWord     = 60   // bytes of a name
	MaxLine     = 300  // of a title, a source, a cell
	MaxReason   = 1000 // of why a row of a contest misses its bound
	MaxText     = 4000 // of a text, a note, a claim
)

// Validate says what is wrong with a figure.
func (f *Figure) Validate() error {
	if err := f.validate(); err != nil {
		return fmt.Errorf("figure %.60q: %w", f.Name, err)
	}
	return nil
}

func (f *Figure) validate() error {
	if f.Name == "" || len(f.Name) > MaxWord || strings.Trim(f.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("a name has small letters, digits and hyphens, up to %d", MaxWord)
	}
	if err := f.validateTexts(); err != nil {
		return err
	}
	if f.Table != nil {
		if err := f.Table.validate(); err != nil {
			return err
		}
	}
	if n := len(f.drawings()); n > MaxDrawings {
		return fmt.Errorf("%d drawings are too many: up to %d", n, MaxDrawings)
	}
	for _, d := range f.drawings() {
		if err := d.Validate(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Figure) validateTexts() error {
	if len(f.Claims) > MaxClaims {
		return fmt.Errorf("%d claims are too many: up to %d", len(f.Claims), MaxClaims)
	}
	if len(f.Notes) > MaxNotes {
		return fmt.Errorf("%d notes are too many: up to %d", len(f.Notes), MaxNotes)
	}
	for _, t := range []struct {
		what, text string
		limit      int
	}{{"its title", f.Title, MaxLine}, {"its source", f.Source, MaxLine}, {"its text", f.Text, MaxText}} {
		if err := printable.Check(t.what, t.text, t.limit); err != nil {
			return err
		}
	}
	for _, note := range f.Notes {
		if err := printable.Check("a note", note, MaxText); err != nil {
			return err
		}
	}
	for _, c := range f.Claims {
		if err := printable.Check("a claim", c.Text+c.Measured+c.Why, MaxText); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) validate() error {
	if len(t.Columns) == 0 || len(t.Columns) > MaxColumns || len(t.Rows) > MaxRows {
		return fmt.Errorf("its table has %d columns and %d rows: up to %d and %d can be shown", len(t.Columns), len(t.Rows), MaxColumns, MaxRows)
	}
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		if len(row) != len(t.Columns) {
			return errors.New("a row of its table has not as many cells as there are columns")
		}
		for _, cell := range row {
			if err := printable.Check("a cell of its table", cell, MaxLine); err != nil {
				return err
			}
		}
	}
	return nil
}
