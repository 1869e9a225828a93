package figure

import (
	"fmt"
	"io"
)

// Report writes one HTML page with all figures, which needs nothing but itself. About are lines that say what it is about:
// the machine, the time, the command.
func Report(w io.Writer, title string, about []string, figures []*Figure) error {
	_, err := fmt.Fprintf(w, "<!doctype html><title>report</title>")
	return err
}
