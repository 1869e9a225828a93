package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
)

// interruptions are the ways in which a push ends before its time. Each returns its report, if there is one.
var interruptions = []struct {
	name string
	do   func(f *fleet, u *underWay, random *rand.Rand) *push.Report
}{
	{"Ctrl-C twice", func(_ *fleet, u *underWay, _ *rand.Rand) *push.Report {
		_ = u.cmd.Process.Signal(os.Interrupt)
		time.Sleep(50 * time.Millisecond) // two at once are one
		_ = u.cmd.Process.Signal(os.Interrupt)
		return u.end(push.ExitInterrupted)
	}},
	{"agents killed", func(f *fleet, u *underWay, random *rand.Rand) *push.Report {
		for _, a := range f.agents {
			a.signal(syscall.SIGKILL)
		}
		for _, a := range f.agents {
			a.kill()
		}
		return u.end(push.ExitNoHost)
	}},
	{"all killed", func(f *fleet, u *underWay, _ *rand.Rand) *push.Report {
		_ = u.cmd.Process.Kill()
		for _, a := range f.agents {
			a.kill()
		}
		return u.end(-1)
	}},
	{"pusher killed", func(f *fleet, u *underWay, _ *rand.Rand) *push.Report {
		_ = u.cmd.Process.Kill()
		u.end(-1)
		for _, a := range f.agents {
			a.log.await(f.t, "push is over")
		}
		return nil
	}},
}

// However often a push is interrupted, and wherever: when it is said again, no block is sent to a host that has it on disk.
func TestPushResumed(t *testing.T) {
	t.Parallel()
	for point := range 10 {
		for i, how := range interruptions {
			if !isLong() && i != point%len(interruptions) {
				continue
			}
			t.Run(fmt.Sprint(how.name, " ", point), func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, 3, 2<<20)
				random := rand.New(rand.NewPCG(uint64(point), uint64(i)))
				u := f.slowly()
				f.await(u, moment{"random", begins("send"), 2 + random.IntN(90)}, f.agents[random.IntN(len(f.agents))])
				r := how.do(f, u, random)
				missed(t, f, f.agents...)
				f.rerun(r)
			})
		}
	}
}

// onTheWay are blocks that a host may have got and not written when its push ends.
const onTheWay = 3

// The same push, interrupted again and again and each time a bit later: it goes on from where the one before was, and a block that came is on disk.
func TestPushResumedAgainAndAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 2<<20)
	for leg := range 10 {
		before := f.onDisk(f.agents...)
		u := f.push("--bwlimit", "250KB") // what is left after the last leg takes so long that a busy machine interrupts it in time
		f.await(u, moment{fmt.Sprint("leg ", leg), begins("send"), 8 * (leg + 1)}, f.agents[leg%len(f.agents)])
		r := interruptions[0].do(f, u, nil)
		f.keeps(before)
		for _, a := range f.agents {
			gained := f.held(a) - before[a]
			if got, most := f.sentIn(a, leg), (gained+onTheWay)*f.layout().Wire()+fleetBlock/2; got > most {
				t.Errorf("leg %d: %s gained %d blocks, and was sent %d bytes, more than %d", leg, a.name, gained, got, most)
			}
		}
		f.clean(r)
	}
	f.rerun(nil)
}

// sentIn is how many bytes an agent was sent in one of its pushes, by its own account, which is right also where the pusher was gone by then.
func (f *fleet) sentIn(a *fleetAgent, push int) (bytes int) {
	f.t.Helper()
	var over []string
	for deadline := time.Now().Add(time.Minute); len(over) <= push; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("%d pushes are not over: %s", push, &a.log)
		}
		over = slices.DeleteFunc(strings.Split(a.log.String(), "\n"), func(line string) bool { return !strings.Contains(line, "push is over") })
	}
	_, text, _ := strings.Cut(over[push], " received=")
	bytes, err := strconv.Atoi(text)
	if err != nil {
		f.t.Fatalf("%s: %v", over[push], err)
	}
	return bytes
}
