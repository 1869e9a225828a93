package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/internal/units"
)

// perfSettings are the flags of weft perf, checked.
type perfSettings struct {
	plan     perftest.Plan
	provider provider
	timeout  time.Duration // of a peer
	address  string        // of a server
	cores    []int
	local    bool // the server is started here
	once     bool
	child    bool
	plain    bool
	asJSON   bool
	mute     bool
	in       io.Reader
	out      io.Writer
	errs     io.Writer
}

func (o *perfOptions) settings(cmd *cobra.Command, args []string) (*perfSettings, error) {
	s := &perfSettings{plan: o.plan, timeout: o.peerTimeout, local: o.local, once: o.once || o.child, child: o.child, plain: o.plain, asJSON: o.asJSON, mute: o.mute,
		in: cmd.InOrStdin(), out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr()}
	if o.serve == perfAddress && len(args) == 1 && !slices.Contains(cmd.ValidArgs, args[0]) {
		o.serve, args = args[0], nil // "--serve ADDRESS", without the equals sign
	}
	o.serve, o.connect = orPerfPort(o.serve), orPerfPort(o.connect)
	s.address = o.serve
	var err error
	if s.provider, err = o.choice.choose(); err != nil {
		return nil, err
	}
	if o.serve == "" {
		if s.plan.Operations, err = parseOperations(args); err != nil {
			return nil, err
		}
	}
	if err := o.checkRole(cmd, s.provider.lane); err != nil {
		return nil, err
	}
	if s.cores, err = parseCores(o.pin); err != nil {
		return nil, fmt.Errorf("--pin %q: %w", o.pin, err)
	}
	if o.serve != "" {
		if len(args) > 0 {
			return nil, fmt.Errorf("operation %q: the client says what is measured, not --serve", args[0])
		}
		return s, nil
	}
	return s, o.fillPlan(cmd, &s.plan)
}

// orPerfPort adds the port to a host that stands alone. Package connect judges everything else.
func orPerfPort(address string) string {
	if full, err := withPort(address, perfPort); err == nil {
		return full
	}
	return address
}

// say tells people what they may want to know, beside the result.
func (s *perfSettings) say(text string) { fmt.Fprintf(s.errs, "weft: %s\n", text) }

// fillPlan reads what is written in words.
func (o *perfOptions) fillPlan(cmd *cobra.Command, plan *perftest.Plan) (err error) {
	if err := refuseZeros(cmd); err != nil {
		return err
	}
	if plan.Measures, err = parseMeasures(o.measure); err != nil {
		return fmt.Errorf("--measure: %w", err)
	}
	if err := plan.Wait.UnmarshalText([]byte(o.wait)); err != nil {
		return fmt.Errorf("--wait: %w", err)
	}
	if plan.Sizes, err = units.ParseSizes(o.size); err != nil {
		return fmt.Errorf("--size: %w", err)
	}
	plan.Sizes = addOnce(nil, plan.Sizes...)
	if o.all {
		plan.Sizes = units.Doubling(1, perftest.MaxSize)
	}
	if cmd.Flags().Changed("size") && onlyAtomics(plan) {
		return fmt.Errorf("--size %s: an atomic always has 8 bytes; leave --size out", o.size)
	}
	if plan.Pairs == 0 {
		plan.Pairs = plan.Threads
	}
	if cmd.Flags().Changed("iterations") {
		plan.Duration = 0
	}
	return plan.Validate()
}

// refuseZeros refuses a zero that was written: left out, these flags have another meaning than none.
func refuseZeros(cmd *cobra.Command) error {
	for _, flag := range []struct{ name, allowed string }{
		{"iterations", "it is at least 1"},
		{"pairs", fmt.Sprintf("it is between 1 and %d", perftest.MaxPairs)},
		{"batch", fmt.Sprintf("it is between 1 and %d", perftest.MaxBatch)},
	} {
		if f := cmd.Flags().Lookup(flag.name); f.Changed && f.Value.String() == "0" {
			return fmt.Errorf("--%s 0 %w: %s", flag.name, perftest.ErrPlan, flag.allowed)
		}
	}
	return nil
}

func onlyAtomics(plan *perftest.Plan) bool {
	if slices.Equal(plan.Sizes, []units.Size{8}) {
		return false
	}
	return !slices.ContainsFunc(plan.Operations, func(o perftest.Operation) bool { return !o.Atomic() })
}

func parseOperations(args []string) ([]perftest.Operation, error) {
	if len(args) == 0 {
		return []perftest.Operation{perftest.Write}, nil
	}
	var all []perftest.Operation
	for _, arg := range args {
		if arg == "atomic" {
			all = addOnce(all, perftest.FetchAdd, perftest.CompareSwap)
			continue
		}
		var o perftest.Operation
		if err := o.UnmarshalText([]byte(arg)); err != nil {
			return nil, fmt.Errorf("%w, and atomic", err)
		}
		all = addOnce(all, o)
	}
	return all, nil
}

// addOnce appends what is not there yet: named twice it is measured once.
func addOnce[T comparable](all []T, more ...T) []T {
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

func parseMeasures(text string) ([]perftest.Measure, error) {
	if text == "both" {
		return []perftest.Measure{perftest.Latency, perftest.Bandwidth}, nil
	}
	var all []perftest.Measure
	for word := range strings.SplitSeq(text, ",") {
		var m perftest.Measure
		if err := m.UnmarshalText([]byte(strings.TrimSpace(word))); err != nil {
			return nil, fmt.Errorf("%w, both", err)
		}
		all = addOnce(all, m)
	}
	return all, nil
}

// parseCores reads numbers and ranges of cores: 0,2-3. They must be there.
func parseCores(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("read which cores there are: %w", err)
	}
	var cores []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, failed := strconv.ParseUint(last, 10, 16)
		if err != nil || failed != nil || to < from {
			return nil, errors.New("write cores as 0,1 or 0-3")
		}
		for core := int(from); core <= int(to); core++ {
			if !allowed.IsSet(core) {
				return nil, fmt.Errorf("there is no core %d that this process may use; it may use %d of them", core, allowed.Count())
			}
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// pinning is which cores either side will use, as far as this process knows.
func (s *perfSettings) pinning() pinning {
	if !s.local {
		return pinning{Client: s.cores}
	}
	client, server := s.share()
	return pinning{client, server}
}

// share divides the cores of --pin between the client and the server of --local.
func (s *perfSettings) share() (client, server []int) {
	if len(s.cores) <= 1 {
		return s.cores, s.cores
	}
	n := min(s.plan.Threads, len(s.cores)-1)
	return s.cores[:n], s.cores[n:]
}
