// Command ripc measures messages between services: how long they take, how much they carry, what services cost and whether
// one is lost. It prints each result beside what it must reach and what the last recorded run had, and keeps them as JSON.
//
//	go run ./bench/ripc -out bench/results/ripc.json
//	go run ./bench/ripc -only 'unix socket' -pairs 11
//
// Every contest runs between two real processes, each pinned to a core, in turn with what a program would take instead: the
// result is the median of the ratios, with the smallest and the largest beside it.
//
// It exits with status 1 if a bound is missed or something could not be measured, with 2 if it was called wrongly.
package main

import (
	"flag"
	"maps"
	"os"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/bench/pinned"
)

type options struct {
	contest.Options
	other string // the program that has the peers with modules of their own
}

func main() {
	pinned.Main(roles())
	o, err := parse(os.Args[1:])
	if err == nil {
		err = measure(o)
	}
	contest.Exit("bench ripc", err)
}

// roles are what this program does in other processes.
func roles() map[string]pinned.Role {
	all := peers.Roles()
	maps.Copy(all, map[string]pinned.Role{"near": play, "far": play, "host": playHost, "crowd": playCrowd})
	return all
}

func parse(arguments []string) (o options, err error) {
	f := flag.NewFlagSet("ripc", flag.ExitOnError)
	f.StringVar(&o.other, "peers", "", "program that measures gRPC, NATS and ZeroMQ, made of bench/ripc/peers")
	return o, o.Parse(f, arguments)
}
