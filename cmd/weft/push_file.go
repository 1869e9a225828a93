package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

// fallback has the values of flags that the command line does not give, and says where they come from.
type fallback func(flag string) (values []string, from string)

// fill gives flags that have no value yet those of a fallback. Hosts that are named already, or started here, are meant, and no others.
func (from fallback) fill(flags *pflag.FlagSet) (failed error) {
	unmeant := unmeantFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || slices.Contains(unmeant, f.Name) {
			return
		}
		values, where := from(f.Name)
		for _, value := range values {
			if err := flags.Set(f.Name, value); err != nil && failed == nil {
				failed = fmt.Errorf("%s: %s", where, withoutFunction(err))
			}
		}
	})
	return failed
}

// unmeantFlags are those that would add hosts to the ones that are said.
func unmeantFlags(flags *pflag.FlagSet) []string {
	switch {
	case flags.Changed("local"):
		return []string{"hosts", "hosts-file", "exclude"}
	case flags.Changed("hosts"): // by --hosts-file, too
		return []string{"local", "hosts-file"}
	}
	return nil
}

// pushFile is the fallback that a file is: flags of weft push by their names. Without a name it is push.toml where the keys of a pusher are, if it is there.
func pushFile(name string) (fallback, error) {
	if name == "" {
		if name = usualFile("push.toml"); name == "" {
			return func(string) ([]string, string) { return nil, "" }, nil
		}
	}
	in, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	defer func() { _ = in.Close() }() // it was only read
	values, err := parsePushFile(name, in)
	return func(flag string) ([]string, string) { return values[flag], fmt.Sprintf("%s: %s", name, flag) }, err
}

// usualFile is where a file of a pusher is if nobody says where; empty: it is not there.
func usualFile(name string) string {
	dirs := []string{"/etc"}
	if dir, err := os.UserConfigDir(); err == nil {
		dirs = []string{dir, "/etc"}
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, "weft", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// parsePushFile reads values of flags. What is no flag of weft push is an error: it might be a word misspelt that matters. Commands that have
// fewer flags take those that they have.
func parsePushFile(name string, in io.Reader) (map[string][]string, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--config: %w", err)
	case len(text) > maxConfig:
		return nil, fmt.Errorf("%s: a configuration has at most %d bytes", name, maxConfig)
	}
	var file map[string]any
	if err := toml.Unmarshal(text, &file); err != nil {
		return nil, errors.New(located(name, err))
	}
	values, known := make(map[string][]string), newPush().Flags()
	for _, flag := range slices.Sorted(maps.Keys(file)) {
		if known.Lookup(flag) == nil || flag == "config" {
			return nil, fmt.Errorf("%s: there is no setting %q; those of 'weft push --help' are named as their flags are", name, flag)
		}
		if values[flag], err = flagValues(file[flag]); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, flag, err)
		}
	}
	return values, nil
}

// flagValues is what a flag is told, one word after the other.
func flagValues(value any) (words []string, err error) {
	switch v := value.(type) {
	case string, bool, int64:
		return []string{fmt.Sprint(v)}, nil
	case []any:
		for _, one := range v {
			word, isWord := one.(string)
			if !isWord {
				return nil, errors.New("a list is of texts")
			}
			words = append(words, word)
		}
		return words, nil
	}
	return nil, errors.New("write a text, a number, true or false, or a list of texts")
}
