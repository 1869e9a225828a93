package push

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/weft-fabric/weft/bench/figure"
)

// What a run that is kept has at least, and what any may have at most.
const (
	fewestPairs  = 7
	fewestRounds = 5
	mostSamples  = 1000
)

// Options is how a run goes.
type Options struct {
	Version string         // of Weft
	Only    *regexp.Regexp // measure only the steps that it matches
	Quick   bool           // smaller files, fewer agents
	Partial bool           // it is not everything, and cannot be kept
	Pairs   int            // that each contest on one host takes
	Rounds  int            // on links
	Out     string         // file to keep the results in; the run that is there is printed for comparison
	JSON    bool           // print the record, and no table
	Shown   io.Writer      // gets the record
	Said    io.Writer      // hears how far it is
}

// Validate says what is wrong.
func (o Options) Validate() error {
	switch {
	case o.Pairs < 1 || o.Pairs > mostSamples:
		return fmt.Errorf("--pairs %d: from 1 to %d", o.Pairs, mostSamples)
	case o.Rounds < 1 || o.Rounds > mostSamples:
		return fmt.Errorf("--rounds %d: from 1 to %d", o.Rounds, mostSamples)
	case o.Out == "":
		return nil
	case o.Partial:
		return errors.New("--out keeps whole runs only: leave out --only and --quick, or --out")
	case o.Pairs < fewestPairs || o.Rounds < fewestRounds:
		return fmt.Errorf("--pairs %d --rounds %d: a run that is kept has at least %d and %d", o.Pairs, o.Rounds, fewestPairs, fewestRounds)
	}
	if _, err := figure.Load(o.Out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--out %w; move it away", err)
	}
	return nil
}
