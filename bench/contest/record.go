package contest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Record is one run, as it is kept.
type Record struct {
	Time     time.Time `json:"time"`
	Machine  Machine   `json:"machine"`
	Version  string    `json:"version,omitempty"` // of Weft
	Command  string    `json:"command,omitempty"` // that repeats it
	Warnings []string  `json:"warnings,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // what was found out on the way
	Results  []Result  `json:"results"`
}

// NewRecord begins a record of a run on this machine.
func NewRecord() *Record {
	return &Record{Time: time.Now().UTC().Truncate(time.Second), Machine: thisMachine()}
}

// Warn keeps warnings, and prints them: whoever sits there may want to stop.
func (r *Record) Warn(warnings ...string) {
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	r.Warnings = append(r.Warnings, warnings...)
}

// Note keeps something that was found out on the way, and prints it.
func (r *Record) Note(format string, values ...any) {
	note := fmt.Sprintf(format, values...)
	fmt.Fprintln(os.Stderr, note)
	r.Notes = append(r.Notes, note)
}

// load reads the last recorded run, if there is one.
func load(path string) (last Record, err error) {
	if path == "" {
		return last, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return last, nil
	}
	if err != nil {
		return last, err
	}
	if err := json.Unmarshal(text, &last); err != nil {
		return last, fmt.Errorf("%s is no recorded run (%w); move it away", path, err)
	}
	return last, nil
}

func keep(path string, r *Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
