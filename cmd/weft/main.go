// Command weft is the one binary of Weft. Its subcommands share their words: --json for programs, a table for people,
// exit status 0 when done, 1 when something failed, 2 for wrong usage, 130 when interrupted, 143 when terminated. With --json an error is
// one JSON object on the last line of standard error: its text, and its kind, which is one word.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

const (
	exitFailed = 1
	exitUsage  = 2
	exitSignal = 128 // and the signal's number: 130 for Ctrl-C, 143 for SIGTERM
)

func main() {
	ctx, stop := untilSignal(os.Stderr)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run carries out one command line and returns the exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	root := newRoot(out, errs)
	root.SetArgs(args)
	var unread error // cobra does not ask whether help could be written
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { unread = writeHelp(cmd) })
	cmd, err := root.ExecuteContextC(ctx)
	return statusOf(ctx, errors.Join(err, unread), isForPrograms(cmd, args), errs)
}

// writeHelp writes what a command is for, and how it is used.
func writeHelp(cmd *cobra.Command) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", cmp.Or(cmd.Long, cmd.Short), cmd.UsageString())
	return err
}

func newRoot(out, errs io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "RDMA communication for Go: cards, a software NIC and a simulator",
		Long: `Weft is an RDMA communication stack: one library, one binary. The same protocol
code runs on RDMA devices, on a software NIC that needs no hardware (within a
process, in shared memory, over TCP) and in a deterministic simulator.

Exit status: 0 done, 1 something failed, 2 wrong usage, 130 Ctrl-C, 143 SIGTERM;
'weft push --help' has more. Another Ctrl-C or SIGTERM ends at once.

With --json an error is one JSON object on the last line of standard error, with
its text and its kind: {"error": "...", "kind": "usage"}. Kinds are usage,
interrupted and failed; those of services are no_service, service_failed,
unreachable, lost (nobody knows whether the call was delivered), timeout and
taken, too; those of pushes source, no_host, partial, integrity, authentication,
preflight and late.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noMore,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(out) // before the completion command is made, which remembers it
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%s; '%s --help' lists the flags", withoutFunction(err), cmd.CommandPath())}
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 80 "))
	root.AddCommand(newVersion(), newPush(), newVerify(), newExplain(), newAgent(), newDemo(), newMulticast(), newPerf(), newSim(), newBench(), newDoctor(), newCall(),
		newServeEcho(), newServices(), newKeys())
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultCompletionCmd("completion")
	beStrict(root)
	return root
}

// withoutFunction leaves out which function could not read a number.
func withoutFunction(err error) string {
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err.Error()
	}
	return strings.ReplaceAll(err.Error(), number.Error(), number.Err.Error())
}

// newHelp is cobra's help command, but for a topic that does not exist it fails.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("there is no command %q; 'weft --help' lists them", strings.Join(args, " "))}
			}
			return cmd.Help()
		},
	}
}

// beStrict has the commands that cobra makes refuse what they do not know, as ours do.
func beStrict(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args, cmd.RunE = noMore, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range cmd.Commands() {
			shell.Args = noMore
		}
	}
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
