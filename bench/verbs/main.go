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
	"errors"
	"flag"
	"maps"
	"os"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/bench/pinned"
)

type options struct {
	contest.Options
	roce string // the binary of weft, to measure on an RDMA device
}

func main() {
	pinned.Main(roles())
	o, err := parse(os.Args[1:])
	if err == nil {
		err = measure(o)
	}
	contest.Exit("bench verbs", err)
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
	f.StringVar(&o.roce, "roce", "", "measure this binary of weft beside perftest, on the RDMA device that WEFT_ROCE names")
	err = o.Parse(f, arguments)
	if err == nil && o.roce != "" && os.Getenv("WEFT_ROCE") == "" {
		err = contest.Usage{Err: errors.New("-roce: WEFT_ROCE names no RDMA device; make bench-roce measures one that is made for it")}
	}
	return o, err
}
