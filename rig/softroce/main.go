// Command softroce runs a command on a real RDMA device, on a machine that has none: in a virtual machine whose kernel has
// Soft-RoCE.
//
//	softroce [flags] -- COMMAND [ARGUMENT...]
//
// The exit status is the command's; 125 if there was no machine to run it, 124 if its time was up, 130 after Ctrl-C, 2 for
// wrong usage. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/rig/softroce/machine"
)

// Exit statuses that are not the command's.
const (
	exitUsage   = 2
	exitTimeout = 124
	exitBroken  = 125
	exitSignal  = 128 // and the signal's number
)

func main() { os.Exit(run(os.Args[1:])) }

var errTimeout = errors.New("its time was up")

func run(args []string) int {
	config := machine.Config{Stdout: os.Stdout, Stderr: os.Stderr, Env: environment()}
	flags := flag.NewFlagSet("softroce", flag.ContinueOnError)
	timeout := flags.Duration("timeout", 10*time.Minute, "end the machines after this time")
	flags.IntVar(&config.Machines, "machines", 1, "how many machines, 1 or 2 with a wire between them")
	flags.IntVar(&config.CPUs, "cpus", 2, "processors of a machine")
	flags.IntVar(&config.MemoryMiB, "memory", 2048, "memory of a machine, in MiB")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	config.Command = flags.Args()
	config.Folder, _ = os.Getwd()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, *timeout, errTimeout)
	defer cancel()
	base, _ := os.UserCacheDir()
	kernel, err := machine.Fetch(ctx, filepath.Join(base, "weft", "softroce"), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "softroce:", err)
		return exitBroken
	}
	status, err := machine.Run(ctx, kernel, config)
	if errors.Is(err, errTimeout) {
		fmt.Fprintln(os.Stderr, "softroce:", err)
		return exitTimeout
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "softroce:", err)
		return exitBroken
	}
	return status
}

// environment is what the guest's command gets of ours.
func environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name == "PATH" || name == "HOME" || name == "CI" || strings.HasPrefix(name, "WEFT_") || strings.HasPrefix(name, "GO") {
			env = append(env, entry)
		}
	}
	return env
}
