// Command links makes hosts on this machine that have limited links of their own to a switch, and takes them down when it
// ends, however it ends.
//
//	links HOSTS RATE [BETWEEN]                             until Ctrl-C; says how to run a command on a host
//	links HOSTS RATE [BETWEEN] -- COMMAND [ARGUMENT...]    runs the command on every host
//
// HOSTS is how many, or how many in each rack: 4,4,8. RATE limits every host's link in both directions, BETWEEN the links
// between the racks, as tc writes it: 200mbit, 1gbit, none. README.md says more.
//
// The exit status is the highest of the commands'; 125 means that there was no network, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/weft-fabric/weft/rig/links/network"
)

// Exit statuses that are not a command's.
const (
	exitUsage  = 2
	exitBroken = 125
)

const usage = "usage: links HOSTS RATE [BETWEEN] [-- COMMAND [ARGUMENT...]]   for example: links 4 200mbit -- ip addr"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run carries out one command line and returns the exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	config, command, err := parse(args)
	if err != nil {
		fmt.Fprintf(errs, "links: %v\n%s\n", err, usage)
		return exitUsage
	}
	n, err := network.Up(config)
	if err != nil {
		fmt.Fprintln(errs, "links:", err)
		return exitBroken
	}
	status := 0
	if len(command) > 0 {
		status = everywhere(ctx, n, command, out, errs)
	} else {
		describe(out, n)
		<-ctx.Done()
	}
	if err := n.Close(); err != nil {
		fmt.Fprintln(errs, "links:", err)
		return exitBroken
	}
	return status
}

func parse(args []string) (config network.Config, command []string, err error) {
	if i := slices.Index(args, "--"); i >= 0 {
		args, command = args[:i], args[i+1:]
		if len(command) == 0 {
			return config, nil, errors.New("no command behind --")
		}
	}
	if len(args) < 2 || len(args) > 3 {
		return config, nil, errors.New("how many hosts, and how fast?")
	}
	for text := range strings.SplitSeq(args[0], ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return config, nil, fmt.Errorf("hosts %q: a number, or one for each rack: 4,4,8", args[0])
		}
		config.Racks = append(config.Racks, n)
	}
	config.Rate = args[1]
	if len(args) == 3 {
		config.Between = args[2]
	}
	return config, command, config.Validate()
}

// describe says how to use the network from elsewhere.
func describe(out io.Writer, n *network.Network) {
	for host := range n.Hosts() {
		fmt.Fprintf(out, "h%d  %-12s nsenter --net=/proc/%d/ns/net -- COMMAND\n", host, n.Address(host), n.Process(host))
	}
	fmt.Fprintln(out, "until Ctrl-C")
}
