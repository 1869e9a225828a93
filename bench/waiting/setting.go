package waiting

import (
	"fmt"
	"slices"
	"strconv"
)

// members are how many processes multicast, with the root: enough that two of them relay.
const members = 4

// setting is one way to multicast at a place.
type setting struct {
	algorithm string
	size      size
	wait      string
	chains    bool
}

// size is how much is sent, and how often in one sample.
type size struct {
	name    string // as weft has it
	repeats int
	slow    int // repeats on limited links
}

var (
	algorithms = []string{"chain", "pipeline"}
	sizes      = []size{{"100MB", 2, 1}, {"1MB", 30, 6}, {"10KB", 100, 30}}
	waits      = []string{polling, hybrid, sleeping}
	large      = sizes[0]
	middle     = sizes[1]
	small      = sizes[2]
)

// The ways to wait.
const (
	polling  = "polling"
	hybrid   = "hybrid"
	sleeping = "sleeping"
)

// settings are all of them. Those that are compared with each other stand together.
func settings() (all []setting) {
	for _, algorithm := range algorithms {
		for _, size := range sizes {
			for _, chains := range []bool{false, true} {
				for _, wait := range waits {
					all = append(all, setting{algorithm, size, wait, chains})
				}
			}
		}
	}
	return all
}

// chainCredits is how many receives are posted ahead, and how many sends chained to them, where chains relay: as many as
// package rdmc takes by itself.
const chainCredits = 64

// arguments are those of weft multicast, but for where the members are.
func (s setting) arguments(repeats int) []string {
	a := []string{"multicast", "--json", "--quiet", "--size", s.size.name, "--algorithm", s.algorithm, "--wait", s.wait,
		"--repeat", strconv.Itoa(repeats)}
	if s.chains {
		a = append(a, "--offload", "--credits", strconv.Itoa(chainCredits))
	}
	return a
}

// relays is who sends blocks on. Requests that are chained to arrivals are the NIC's: "chains" would be taken for the algorithm.
func (s setting) relays() string {
	if s.chains {
		return "NICs"
	}
	return "hosts"
}

func (s setting) String() string {
	return fmt.Sprintf("%s of %s, %s, relayed by %s", s.algorithm, s.size.name, s.wait, s.relays())
}

// waiting is the same setting with another way to wait.
func (s setting) waiting(wait string) setting {
	s.wait = wait
	return s
}

// turn has another way to wait begin in each round, so that none always follows the same.
func turn(all []setting, round int) (turned []setting) {
	first := round % len(waits)
	for group := range slices.Chunk(all, len(waits)) {
		turned = slices.Concat(turned, group[first:], group[:first])
	}
	return turned
}
