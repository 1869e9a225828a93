// Command multicast measures weft multicast beside what a program would take instead, prints each ratio beside what it must
// reach and what the last recorded run had, and keeps them as JSON.
//
//	go run ./bench/multicast -weft bin/weft -out bench/results/multicast.json
//	go run ./bench/multicast -weft bin/weft -only 'shared memory' -pairs 3 -quick
//
// On one host the peers are MPI_Bcast of Open MPI and MPICH. All their algorithms are tried first; the fastest is the peer.
// Then both are measured in turn, and the result is the median of the ratios. On links of 200 Mbit/s, between hosts that
// are made for it (package network: needs root), the peer is one plain TCP copy to one receiver.
//
// It exits with status 1 if a bound is missed or something could not be measured, with 2 if it was called wrongly.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
)

type options struct {
	weft   string
	pairs  int
	rounds int // on limited links, where one takes a minute
	quick  bool
	run    contest.Options
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == copyRole {
		exit(copyMain(os.Args[2:]))
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench multicast:", err)
		os.Exit(2)
	}
	exit(measure(o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench multicast:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parse(arguments []string) (o options, err error) {
	f := flag.NewFlagSet("multicast", flag.ExitOnError)
	f.StringVar(&o.weft, "weft", "bin/weft", "the binary of weft")
	f.StringVar(&o.run.Out, "out", "", "file to keep the results in, as JSON; the run that is there is printed for comparison")
	f.IntVar(&o.pairs, "pairs", 7, "pairs that each contest on one host takes")
	f.IntVar(&o.rounds, "rounds", 3, "rounds on limited links, of one copy and each algorithm")
	f.BoolVar(&o.quick, "quick", false, "try only those ways of MPI that were fast elsewhere; not kept")
	only := f.String("only", "", "measure only rows that this regular expression matches; they are printed, not kept")
	if err := f.Parse(arguments); err != nil {
		return o, err
	}
	if o.run.Only, err = regexp.Compile("(?i)" + *only); err != nil {
		return o, fmt.Errorf("-only %q: %w", *only, err)
	}
	if o.quick || *only != "" {
		o.run.Out = ""
	}
	return o, o.check(f.Args())
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is too much: there are only flags", rest[0])
	case o.pairs < 1 || o.pairs > 1000:
		return fmt.Errorf("-pairs %d: from 1 to 1000", o.pairs)
	case o.rounds < 1 || o.rounds > 1000:
		return fmt.Errorf("-rounds %d: from 1 to 1000", o.rounds)
	case o.run.Out != "" && (o.pairs < 7 || o.rounds < 3):
		return fmt.Errorf("-pairs %d -rounds %d: a run that is kept has at least 7 and 3", o.pairs, o.rounds)
	}
	if _, err := os.Stat(o.weft); err != nil {
		return fmt.Errorf("-weft %s: %w; make builds it", o.weft, err)
	}
	return nil
}

// measure takes everything that was asked for, in the order of the table.
func measure(o options) error {
	r := contest.NewRecord()
	for l, version := range map[peers.Library]*string{peers.OpenMPI: &r.Machine.OpenMPI, peers.MPICH: &r.Machine.MPICH} {
		v, err := l.Version()
		if err != nil {
			r.Warn(err.Error())
		}
		*version = v
	}
	return r.Run(o.run, append(hostSteps(o, r), append(linkSteps(o), allocationSteps()...)...))
}
