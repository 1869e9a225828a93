// Command weft is the one binary of Weft: RDMA-style communication on real NICs, on any network, in shared memory and
// in a simulator. Its subcommands share their words: --json for programs, a table for people, exit status 0 when done,
// 1 when something failed, 2 for wrong usage, 130 when interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run carries out one command line and returns the exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(errs, "weft: interrupted")
		return exitInterrupted
	case errors.As(err, &wrong):
		fmt.Fprintf(errs, "weft: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(errs, "weft: %v\n", err)
	return exitFailed
}

// usageError is an error of the command line, not of the work.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "RDMA communication on any machine: NIC, TCP, shared memory, simulator",
		Long: `Weft is an RDMA communication stack: one library, one binary. The same protocol code runs on real NICs, on plain
TCP, in shared memory on one host, and in a deterministic simulator.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noMore,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; '%s --help' lists the flags", err, cmd.CommandPath())}
	})
	root.AddCommand(newVersion(), newDemo())
	return root
}

// noMore refuses arguments that a command does not know.
func noMore(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return usageError{fmt.Errorf("there is no command %q; '%s --help' lists them", args[0], cmd.CommandPath())}
	}
	return usageError{fmt.Errorf("%s takes no argument %q; see '%s --help'", cmd.Name(), args[0], cmd.CommandPath())}
}
