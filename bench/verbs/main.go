// Command verbs measures the verbs layer on the software NIC and in the simulator, prints each result beside what it must
// reach and what the last recorded run had, and keeps them as JSON.
//
//	go run ./bench/verbs -out bench/results/verbs.json
//	go run ./bench/verbs -only 'shm lane' -pairs 11
//
// With -roce it measures weft perf beside perftest on a real RDMA device instead: make bench-roce runs that in the rig.
//
// There are two kinds of rows. A figure stands for itself: its times are CPU time of the measuring thread, medians over
// several rounds, and mean something only beside the baseline of the same run, one uncontended atomic addition. A
// contest compares a lane between two real processes, each pinned to a core, with what a program would take instead,
// which is run in turn with it: the result is the median of the ratios, with the smallest and the largest beside it.
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
	roce  string // the binary of weft, to measure on an RDMA device

	version string // of Weft
}

func main() {
	pinned.Main(roles())
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench verbs:", err)
		os.Exit(2)
	}
	if err := measure(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench verbs:", err)
		os.Exit(1)
	}
}

// roles are what this program does in other processes.
func roles() map[string]pinned.Role {
	all := peers.Roles()
	maps.Copy(all, map[string]pinned.Role{
		"near":  playSide(nearJobs, func(o order) string { return o.Near }),
		"far":   playSide(farJobs, func(o order) string { return o.Far }),
		"alone": playAlone,
	})
	return all
}

func parse(arguments []string) (o options, err error) {
	f := flag.NewFlagSet("verbs", flag.ExitOnError)
	f.StringVar(&o.out, "out", "", "file to keep the results in, as JSON; the run that is there is printed for comparison")
	f.IntVar(&o.pairs, "pairs", 9, "pairs that each contest takes")
	f.StringVar(&o.roce, "roce", "", "measure this binary of weft beside perftest, on the RDMA device that WEFT_ROCE names")
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
	case o.roce != "" && os.Getenv("WEFT_ROCE") == "":
		return o, fmt.Errorf("-roce: WEFT_ROCE names no RDMA device; make bench-roce measures one that is made for it")
	case o.pairs < 1 || o.pairs > 1000:
		return o, fmt.Errorf("-pairs %d: from 1 to 1000", o.pairs)
	case partial:
		o.out = ""
	case o.out != "" && o.pairs < fewestPairs:
		return o, fmt.Errorf("-pairs %d: a run that is kept has at least %d", o.pairs, fewestPairs)
	}
	return o, nil
}
