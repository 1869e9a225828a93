package figure

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/weft-fabric/weft/bench/contest"
)

// Record is what one run brought, as it is kept: when, on what machine, rows of a contest, figures.
type Record struct {
	contest.Record
	Version string    `json:"version,omitempty"` // of Weft
	Command string    `json:"command,omitempty"` // that repeats it
	Figures []*Figure `json:"figures,omitempty"`
}

// NewRecord begins a record of a run on this machine.
func NewRecord(version, command string) *Record {
	return &Record{Record: *contest.NewRecord(), Version: version, Command: command}
}

// Save keeps a record in a file.
func Save(path string, r *Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Load reads a record that Save, or a contest, has kept.
func Load(path string) (*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s is no recorded run: %w", path, err)
	}
	return r, nil
}
