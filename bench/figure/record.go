package figure

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/internal/printable"
)

// Record is what one run brought, as it is kept: when, on what machine, rows of a contest, figures.
type Record struct {
	contest.Record
	Method    string    `json:"method,omitempty"`    // how the rows were measured
	Simulated []string  `json:"simulated,omitempty"` // how those were that are simulated, a line each
	Figures   []*Figure `json:"figures,omitempty"`
}

// MaxFile is how many bytes a recorded run may have.
const MaxFile = 64 << 20

var errNothing = errors.New("it has neither figures nor results")

// NewRecord begins a record of a run on this machine.
func NewRecord(version, command string) *Record {
	r := &Record{Record: *contest.NewRecord()}
	r.Version, r.Command = version, command
	return r
}

// Save keeps a record in a file.
func Save(path string, r *Record) error {
	if err := r.validate(); err != nil {
		return fmt.Errorf("%s is not written: %w", path, err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("%s is not written: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Load reads a record that Save has kept, or a contest.
func Load(path string) (*Record, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, err
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s is no recorded run: %w", path, err)
	}
	return r, nil
}

// parse reads a record, of which nothing is believed.
func parse(text []byte) (*Record, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	r := &Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	return r, r.validate()
}

func (r *Record) validate() error {
	switch {
	case len(r.Figures) == 0 && len(r.Results) == 0:
		return errNothing
	case len(r.Figures) > MaxFigures || len(r.Results) > MaxRows:
		return fmt.Errorf("it has %d figures and %d results: up to %d and %d can be shown", len(r.Figures), len(r.Results), MaxFigures, MaxRows)
	}
	for _, text := range r.about() {
		if err := printable.Check("a word about the machine", text, MaxText); err != nil {
			return err
		}
	}
	for i, f := range r.Figures {
		if f == nil {
			return fmt.Errorf("figure %d is not there", i)
		}
		if err := f.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// about says when, on what machine and how the run was.
func (r *Record) about() []string {
	m := r.Machine
	lines := []string{fmt.Sprintf("%s, %s, %d cores%s, %s, kernel %s, %s", r.Time.UTC().Format("2 January 2006 15:04 UTC"), m.CPU, m.Cores, ofVirtual(m.Virtual), m.OS, m.Kernel, m.Go)}
	for _, v := range []struct{ name, text string }{{"Weft", cmp.Or(r.Version, "of a version that was not recorded")}, {"UCX", m.UCX},
		{"Open MPI", m.OpenMPI}, {"MPICH", m.MPICH}, {"udpcast", m.UDPCast}, {"aria2", m.Aria2}} {
		if v.text != "" {
			lines[0] += ", " + v.name + " " + v.text
		}
	}
	if r.Command != "" {
		lines[0] += ". Repeat it with: " + r.Command
	}
	for _, w := range r.Warnings {
		lines = append(lines, "Warning: "+printable.Clean(w, MaxLine)) // it may be an error of several lines
	}
	return lines
}

// ofVirtual says whose the cores are, if they are not real ones.
func ofVirtual(virtual string) string {
	switch virtual {
	case "":
		return ""
	case "yes":
		return " of a virtual machine"
	}
	return " of a virtual machine (" + virtual + ")"
}

// Page is what a report shows of recorded runs: lines about them, and all figures. Rows of a contest become a figure, named
// after the file, and those that are simulated one of their own.
func Page(paths []string, records []*Record) (about []string, figures []*Figure) {
	for i, r := range records {
		name := printable.Clean(strings.TrimSuffix(filepath.Base(paths[i]), filepath.Ext(paths[i])), MaxText)
		lines := r.about()
		lines[0] = name + ": " + lines[0]
		about = append(about, lines...)
		if len(r.Results) > 0 {
			figures = append(figures, fromContest(name, r)...)
		}
		figures = append(figures, r.Figures...)
	}
	return about, figures
}
