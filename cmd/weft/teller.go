package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// teller prints what happens: lines for people, or one JSON event a line for programs.
type teller struct {
	out     io.Writer
	asJSON  bool
	section string
	err     error // the first failure to print
}

func newTeller(out io.Writer, asJSON bool) *teller { return &teller{out: out, asJSON: asJSON} }

// event is one thing that happened.
type event struct {
	Provider    string `json:"provider"`
	Who         string `json:"who,omitempty"`
	What        string `json:"what"`
	Status      string `json:"status,omitempty"`
	Nanoseconds int64  `json:"ns,omitempty"`
}

// title begins a section.
func (t *teller) title(provider, text string) {
	t.section = provider
	if !t.asJSON {
		t.printf("\n%s\n", text)
	}
}

// tell prints one thing that happened. Status and duration are left out if they are empty.
func (t *teller) tell(who, what, status string, took time.Duration) {
	if t.asJSON {
		t.keep(json.NewEncoder(t.out).Encode(event{t.section, who, what, status, int64(took)}))
		return
	}
	if status == "" {
		t.printf("  %-6s %s\n", who, what)
		return
	}
	t.printf("  %-6s %-46s %-13s %9v\n", who, what, status, took)
}

func (t *teller) printf(format string, args ...any) {
	_, err := fmt.Fprintf(t.out, format, args...)
	t.keep(err)
}

func (t *teller) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}
