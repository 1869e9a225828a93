// Command verbs measures the verbs layer on the software NIC's in-process lane and in the simulator, prints each result
// beside what it must reach and what the last recorded run had, and keeps them as JSON.
//
//	go run ./bench/verbs -out bench/results/verbs.json
//
// Times are CPU time of the measuring thread, medians over several rounds, and mean something only beside the baseline
// of the same run: one uncontended atomic addition.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("out", "", "file to keep the results in, as JSON; the run that is there is printed for comparison")
	quick := flag.Bool("quick", false, "a tenth of the work, for trying out")
	flag.Parse()
	if err := measure(*out, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench verbs:", err)
		os.Exit(1)
	}
}

// result is one measured number.
type result struct {
	What   string  `json:"what"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
	Bound  float64 `json:"bound,omitempty"` // 0: there is none, the number stands beside for comparison
	AtMost bool    `json:"at_most,omitempty"`
}

func (r result) met() bool {
	if r.AtMost {
		return r.Value <= r.Bound
	}
	return r.Bound == 0 || r.Value >= r.Bound
}

func measure(out string, quick bool) error {
	scale := 10
	if quick {
		scale = 1
	}
	var results []result
	for _, step := range []func(scale int) ([]result, error){measureBaseline, measureInProcess, measureAllocations,
		measureEvents, measureNodeMemory} {
		more, err := step(scale)
		if err != nil {
			return err
		}
		results = append(results, more...)
	}
	return report(out, results)
}
