package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

// maxConfig bounds what is read as a configuration.
const maxConfig = 1 << 20

// agentFile is the configuration file of an agent: flags by their names. Nil: it does not say.
type agentFile struct {
	Root      *string  `toml:"root"`
	Name      *string  `toml:"name"`
	Listen    *string  `toml:"listen"`
	Advertise *string  `toml:"advertise"`
	Keys      []string `toml:"keys"`
	NoPlain   *bool    `toml:"no-plain"`
	NoShm     *bool    `toml:"no-shm"`
	Device    *string  `toml:"device"`
	Grace     *lasting `toml:"grace"`
	Sweep     *lasting `toml:"sweep"`
	Metrics   *string  `toml:"metrics"`
	Log       *string  `toml:"log"`
}

// lasting is a duration as people write it: a number alone is none.
type lasting struct{ time.Duration }

// UnmarshalText reads it.
func (l *lasting) UnmarshalText(text []byte) (err error) {
	l.Duration, err = time.ParseDuration(string(text))
	return err
}

// said is the duration, if there is one.
func (l *lasting) said() *time.Duration {
	if l == nil {
		return nil
	}
	return &l.Duration
}

// readAgentFile reads a configuration. What it does not know is an error: it might be a word misspelt that matters.
func readAgentFile(name string) (*agentFile, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	defer func() { _ = in.Close() }() // it was only read
	return parseAgentFile(name, in)
}

func parseAgentFile(name string, in io.Reader) (*agentFile, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--config: %w", err)
	case len(text) > maxConfig:
		return nil, fmt.Errorf("%s: a configuration has at most %d bytes", name, maxConfig)
	}
	var file agentFile
	if err := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, errors.New(located(name, err))
	}
	return &file, nil
}

// located says where in a file something is wrong.
func located(name string, err error) string {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		var lines []string
		for _, e := range unknown.Errors {
			line, _ := e.Position()
			lines = append(lines, fmt.Sprintf("%s:%d: there is no setting %q; those of 'weft agent --help' are named as their flags are", name, line, strings.Join(e.Key(), ".")))
		}
		return strings.Join(lines, "\n")
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, _ := wrong.Position()
		what, _, _ := strings.Cut(strings.TrimPrefix(wrong.Error(), "toml: "), " into struct field") // of ours, which nobody knows
		if len(wrong.Key()) > 0 {
			what = strings.Join(wrong.Key(), ".") + ": " + what
		}
		return fmt.Sprintf("%s:%d: %s", name, line, what)
	}
	return fmt.Sprintf("%s: %v", name, err)
}

// fill sets what the command line has not set.
func (o *agentOptions) fill(f *pflag.FlagSet, file *agentFile) {
	setFrom(f, "root", &o.root, file.Root)
	setFrom(f, "name", &o.name, file.Name)
	setFrom(f, "listen", &o.listen, file.Listen)
	setFrom(f, "advertise", &o.advertise, file.Advertise)
	setFrom(f, "no-plain", &o.noPlain, file.NoPlain)
	setFrom(f, "no-shm", &o.noShm, file.NoShm)
	setFrom(f, "device", &o.device, file.Device)
	setFrom(f, "grace", &o.grace, file.Grace.said())
	setFrom(f, "sweep", &o.sweep, file.Sweep.said())
	setFrom(f, "metrics", &o.metrics, file.Metrics)
	setFrom(f, "log", &o.log, file.Log)
	if file.Keys != nil {
		setFrom(f, "keys", &o.keys, &file.Keys)
	}
}

func setFrom[T any](f *pflag.FlagSet, flag string, into, said *T) {
	if said != nil && !f.Changed(flag) {
		*into = *said
	}
}
