package contest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
)

// Options is how a run goes.
type Options struct {
	Out     string         // the file that the run is kept in, and that has the last one; empty: none
	Only    *regexp.Regexp // measure only the steps that it matches
	Pairs   int            // that each contest takes
	Scale   int            // how much work: 10 is a full run
	Version string         // of Weft
}

// fewestPairs is how many pairs a contest has at least that is kept.
const fewestPairs = 7

// Parse reads the options, and whatever flags f has besides. A run that is not whole is not kept. An error is a Usage.
func (o *Options) Parse(f *flag.FlagSet, arguments []string) error {
	if err := o.parse(f, arguments); err != nil {
		return Usage{err}
	}
	return nil
}

func (o *Options) parse(f *flag.FlagSet, arguments []string) (err error) {
	f.StringVar(&o.Out, "out", "", "file to keep the results in, as JSON; the run that is there is printed for comparison")
	f.IntVar(&o.Pairs, "pairs", 9, "pairs that each contest takes")
	f.StringVar(&o.Version, "version", "", "version of Weft, to keep with the results")
	only := f.String("only", "", "measure only rows that this regular expression matches; they are printed, not kept")
	quick := f.Bool("quick", false, "a tenth of the work, for trying out; not kept")
	if err := f.Parse(arguments); err != nil {
		return err
	}
	o.Scale = map[bool]int{false: 10, true: 1}[*quick]
	if o.Only, err = regexp.Compile("(?i)" + *only); err != nil {
		return fmt.Errorf("-only %q: %w", *only, err)
	}
	switch partial := *quick || *only != ""; {
	case f.NArg() > 0:
		return fmt.Errorf("%q is too much: there are only flags", f.Arg(0))
	case o.Pairs < 1 || o.Pairs > 1000:
		return fmt.Errorf("-pairs %d: from 1 to 1000", o.Pairs)
	case partial:
		o.Out = ""
	case o.Out != "" && o.Pairs < fewestPairs:
		return fmt.Errorf("-pairs %d: a run that is kept has at least %d", o.Pairs, fewestPairs)
	}
	return nil
}

// Usage is what somebody has said wrongly.
type Usage struct{ Err error }

func (u Usage) Error() string { return u.Err.Error() }

func (u Usage) Unwrap() error { return u.Err }

// Exit ends a program: with status 0 if there is no error, with 2 if it was called wrongly, with 1 if it failed otherwise.
func Exit(name string, err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, name+":", err)
	if errors.As(err, new(Usage)) {
		os.Exit(2)
	}
	os.Exit(1)
}
