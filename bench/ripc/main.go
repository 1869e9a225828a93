// Command ripc measures messages between services: how long they take, how much they carry, what services cost and whether
// one is lost. It prints each result beside what it must reach and what the last recorded run had, and keeps them as JSON.
//
//	go run ./bench/ripc -out bench/results/ripc.json
//	go run ./bench/ripc -only 'unix socket' -pairs 11
//
// Every contest runs between two real processes, each pinned to a core, in turn with what a program would take instead: the
// result is the median of the ratios, with the smallest and the largest beside it.
//
// It exits with status 1 if a bound is missed or something could not be measured, with 2 if it was called wrongly.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"

	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/bench/pinned"
)

// fewestPairs is how many pairs a recorded contest has at least.
const fewestPairs = 7

type options struct {
	out   string
	only  *regexp.Regexp
	pairs int
	scale int    // how much work: 10 is a full run
	other string // the program that has the peers with modules of their own

	version string // of Weft
}

func main() {
	pinned.Main(roles())
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench ripc:", err)
		os.Exit(2)
	}
	if err := measure(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench ripc:", err)
		os.Exit(1)
	}
}

// roles are what this program does in other processes.
func roles() map[string]pinned.Role {
	all := peers.Roles()
	maps.Copy(all, map[string]pinned.Role{"near": play, "far": play, "host": playHost, "crowd": playCrowd})
	return all
}

func parse(arguments []string) (o options, err error) {
	f := flag.NewFlagSet("ripc", flag.ExitOnError)
	f.StringVar(&o.out, "out", "", "file to keep the results in, as JSON; the run that is there is printed for comparison")
	f.IntVar(&o.pairs, "pairs", 9, "pairs that each contest takes")
	f.StringVar(&o.other, "peers", "", "program that measures gRPC, NATS and ZeroMQ, made of bench/ripc/peers")
	f.StringVar(&o.version, "version", "", "version of Weft, to keep with the results")
	only := f.String("only", "", "measure only rows that this regular expression matches; they are printed, not kept")
	quick := f.Bool("quick", false, "a tenth of the work, for trying out; not kept")
	if err := f.Parse(arguments); err != nil {
		return o, err
	}
	o.scale = map[bool]int{false: 10, true: 1}[*quick]
	if o.only, err = regexp.Compile("(?i)" + *only); err != nil {
		return o, fmt.Errorf("-only %q: %w", *only, err)
	}
	switch partial := *quick || *only != ""; {
	case f.NArg() > 0:
		return o, fmt.Errorf("%q is too much: there are only flags", f.Arg(0))
	case o.pairs < 1 || o.pairs > 1000:
		return o, fmt.Errorf("-pairs %d: from 1 to 1000", o.pairs)
	case partial:
		o.out = ""
	case o.out != "" && o.pairs < fewestPairs:
		return o, fmt.Errorf("-pairs %d: a run that is kept has at least %d", o.pairs, fewestPairs)
	}
	return o, nil
}
