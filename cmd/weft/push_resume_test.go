package main

import (
	"fmt"
	"math/rand/v2"
	"os"
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
