// Command softroce runs a command on a real RDMA device, on a machine that has none: in a virtual machine whose kernel has
// Soft-RoCE, or in two with a wire between them.
//
//	softroce [flags] -- COMMAND [ARGUMENT...]
//	softroce [flags] --tests FILE
//
// The exit status is the command's, with two machines the higher one; a command that a signal ended has 128 and its
// number. 124 means that the time was up, 125 that there was no machine, 2 wrong usage. README.md says more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weft-fabric/weft/rig/softroce/machine"
)

// Exit statuses that are not the command's.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitTimeout = 124
	exitBroken  = 125
	exitSignal  = 128 // and the signal's number
)

func main() {
	ctx, stop := untilSignal()
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// settings is what the command line says.
type settings struct {
	machine machine.Config
	timeout time.Duration
	tests   string // a file that lists tests, instead of a command
	inside  string // a file with jobs: we are in the guest
	verbose bool
}

var errUsage = errors.New("wrong usage")

// flags are those for people.
func (s *settings) flags(errs io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet("softroce", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.DurationVar(&s.timeout, "timeout", 10*time.Minute, "end the machines after this time")
	flags.IntVar(&s.machine.Machines, "machines", 1, "1, or 2 with a wire between them")
	flags.IntVar(&s.machine.CPUs, "cpus", 2, "processors of a machine")
	flags.IntVar(&s.machine.MemoryMiB, "memory", 2048, "memory of a machine, in MiB")
	flags.StringVar(&s.tests, "tests", "", "run the tests that this file lists")
	flags.BoolVar(&s.verbose, "verbose", false, "with --tests: show all that the tests write")
	return flags
}

// parse reads the command line.
func parse(args []string, out, errs io.Writer) (settings, error) {
	s := settings{machine: machine.Config{Stdout: out, Stderr: errs, Log: errs, Env: environment(os.Environ())}}
	flags := s.flags(errs)
	flags.StringVar(&s.inside, "inside", "", "for the guest's side of --tests")
	flags.Usage = func() {
		fmt.Fprintln(errs, "usage: softroce [flags] -- COMMAND [ARGUMENT...]\n       softroce [flags] --tests FILE")
		new(settings).flags(errs).PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return s, fmt.Errorf("%w: %w", errUsage, err)
	}
	s.machine.Command = flags.Args()
	if isCommand := flags.NArg() > 0; isCommand == (s.tests != "" || s.inside != "") {
		return s, fmt.Errorf("%w: give it either a command or --tests FILE; --help says more", errUsage)
	}
	if err := s.machine.Validate(); err != nil {
		return s, fmt.Errorf("%w: %w", errUsage, err)
	}
	var err error
	s.machine.Folder, err = os.Getwd()
	return s, err
}

// run carries out one command line and returns the exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	s, err := parse(args, out, errs)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errTimeout)
	defer cancel()
	status := 0
	switch {
	case err != nil:
	case s.inside != "":
		status, err = runInside(ctx, s.inside, out, errs)
	case s.tests != "":
		status, err = runTests(ctx, s)
	default:
		status, err = runCommand(ctx, s)
	}
	if err != nil {
		fmt.Fprintf(errs, "softroce: %v\n", err)
		return exitStatus(err)
	}
	return status
}

func runCommand(ctx context.Context, s settings) (int, error) {
	kit, err := fetchKit(ctx, s.machine.Log)
	if err != nil {
		return 0, err
	}
	return machine.Run(ctx, kit, s.machine)
}

// exitStatus translates an error of ours.
func exitStatus(err error) int {
	var came signalError
	switch {
	case errors.As(err, &came):
		return exitSignal + int(came.number)
	case errors.Is(err, errTimeout):
		return exitTimeout
	case errors.Is(err, errUsage):
		return exitUsage
	}
	return exitBroken
}
