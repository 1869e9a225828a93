package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/weft-fabric/weft/bench/peers"
)

// record is one run, as it is kept.
type record struct {
	Time     time.Time `json:"time"`
	Machine  machine   `json:"machine"`
	Warnings []string  `json:"warnings,omitempty"`
	Results  []result  `json:"results"`
}

type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	OS     string `json:"os"`
	UCX    string `json:"ucx,omitempty"`
}

func newRecord(withoutUCX bool) *record {
	r := &record{Time: time.Now().UTC().Truncate(time.Second), Machine: thisMachine()}
	if withoutUCX {
		return r
	}
	ucx, err := peers.UCXVersion()
	switch {
	case err != nil:
		r.warn([]string{err.Error()})
	case !strings.HasPrefix(ucx, "1.13."):
		r.warn([]string{"the bounds against UCX are meant for 1.13, and this is " + ucx})
	}
	r.Machine.UCX = ucx
	return r
}

// warn keeps warnings, and prints them: whoever sits there may want to stop.
func (r *record) warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	r.Warnings = append(r.Warnings, warnings...)
}

// load reads the last recorded run, if there is one.
func load(path string) (last record, err error) {
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

func keep(path string, r *record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func thisMachine() machine {
	m := machine{CPU: "unknown", Cores: runtime.NumCPU(), Kernel: "unknown", Go: runtime.Version(),
		OS: runtime.GOOS + "/" + runtime.GOARCH}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}
