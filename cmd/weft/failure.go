package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/internal/printable"
)

// failure is how a command line has failed. It is what programs are told of that, if they say --json: on the last line of standard error.
type failure struct {
	Error  string `json:"error"`
	Kind   string `json:"kind"`
	status int
}

// usageError is an error of the command line, not of the work.
type usageError struct{ error }

// kindError is one that programs can tell from others, by a word that stays the same when its text changes.
type kindError struct {
	error
	kind string
}

// Unwrap is what has happened.
func (e kindError) Unwrap() error { return e.error }

// failureOf is how a command line has failed that ended with an error.
func failureOf(ctx context.Context, err error) failure {
	var known kindError
	var pushed pushError
	switch {
	case errors.As(err, &pushed):
		return failure{err.Error(), cmp.Or(pushKinds[pushed.status], "failed"), pushed.status}
	case ctx.Err() != nil && !errors.As(err, new(ownError)):
		return failure{interruption(err), "interrupted", exitSignal + int(signalOf(ctx))}
	case errors.As(err, new(usageError)):
		return failure{err.Error(), "usage", exitUsage}
	case errors.As(err, &known):
		return failure{err.Error(), known.kind, exitFailed}
	}
	return failure{err.Error(), "failed", exitFailed}
}

// statusOf says what has failed, and returns the exit status for that.
func statusOf(ctx context.Context, err error, asJSON bool, errs io.Writer) int {
	if err == nil {
		return 0
	}
	f := failureOf(ctx, err)
	f.Error = shown(f.Error)
	if asJSON {
		_ = json.NewEncoder(errs).Encode(f) // there is nobody else to tell
	} else {
		fmt.Fprintf(errs, "weft: %s\n", f.Error)
	}
	return f.status
}

// complaint is what a command has said on standard error, and with --json has told programs last, as people are told it.
func complaint(said string) string {
	before := strings.LastIndexByte(said, '\n') + 1
	var f failure
	if json.Unmarshal([]byte(said[before:]), &f) != nil {
		return said
	}
	return said[:before] + f.Error
}

// isForPrograms reports whether a command was told to print JSON, also behind a flag that it does not know or cannot read: cobra goes no
// further than that.
func isForPrograms(cmd *cobra.Command, args []string) (said bool) {
	flags := cmd.Flags()
	flags.ParseErrorsAllowlist.UnknownFlags = true
	_ = flags.ParseAll(args, func(f *pflag.Flag, value string) error { // what is wrong was told before
		if f.Name == "json" {
			said, _ = strconv.ParseBool(value) // what is neither is no yes
		}
		return nil
	})
	return said
}

// shown is an error fit for a terminal: names of files and what peers said may hold anything.
func shown(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable.Clean(line, len(line))
	}
	return strings.Join(lines, "\n")
}
