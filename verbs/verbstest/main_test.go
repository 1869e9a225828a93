package verbstest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/hook"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// childVariable is set in the environment of a process that shall serve a lab instead of running tests.
const childVariable = "WEFT_VERBSTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		leaktest.Main(m)
	}
	lab := softLab(realTime, 0)
	if os.Getenv(pauseVariable) != "" {
		lab = pausingLab()
	}
	if err := verbstest.Serve(os.Stdin, os.Stdout, lab); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// realTime is what a lab has that is not simulated.
const realTime = verbstest.Everything &^ verbstest.ExactTime

// small is a budget for tests of the suite itself.
func small(has verbstest.Capability) verbstest.Capabilities {
	return verbstest.Capabilities{Has: has &^ verbstest.Allocations, QueuePairs: 50, Traffic: 8 << 20, Repeat: 3,
		Moments: 3}
}

// softLab is a lab of software NICs whose rules are broken as told.
func softLab(has verbstest.Capability, limit time.Duration, rules ...hook.Rule) verbstest.Lab {
	inner := map[driver.Device]*soft.Device{}
	return verbstest.Goroutines(verbstest.GoroutineConfig{
		Open: func() (driver.Device, error) {
			d, err := soft.New(soft.Config{})
			if err != nil {
				return nil, err
			}
			faulty := faulty(d, rules)
			inner[faulty] = d
			return faulty, nil
		},
		Kill:         func(d driver.Device) { inner[d].Kill() },
		Capabilities: small(has),
		Limit:        limit,
	})
}

// simLab is a lab of simulated nodes whose rules are broken as told.
func simLab(tb verbstest.TB, rules ...hook.Rule) verbstest.Lab {
	fabric, err := sim.New(sim.Config{Seed: 5, PeerTimeout: 10 * time.Millisecond})
	if err != nil {
		tb.Fatalf("new fabric: %v", err)
	}
	inner := map[driver.Device]*sim.Device{}
	return verbstest.Simulated(verbstest.SimulatedConfig{
		Fabric: fabric,
		Open: func() (driver.Device, error) {
			d, err := fabric.NewDevice(sim.NodeConfig{Name: fmt.Sprintf("node%d", len(inner))})
			if err != nil {
				return nil, err
			}
			faulty := faulty(d, rules)
			inner[faulty] = d
			return faulty, nil
		},
		Kill: func(d driver.Device) {
			if err := fabric.Crash(inner[d].Name()); err != nil {
				tb.Errorf("crash: %v", err)
			}
		},
		Capabilities: small(verbstest.Everything &^ (verbstest.Sleeps | verbstest.Preemptive | verbstest.SharedWaits)),
		Limit:        100 * time.Millisecond,
	})
}

// faulty wraps a device if there are rules to break.
func faulty(d driver.Device, rules []hook.Rule) driver.Device {
	if len(rules) == 0 {
		return d
	}
	return hook.Fault(d, hook.Plan{Rules: rules})
}

// The whole suite passes through a pipe: both ends of each test live in one child process.
func TestChildProcess(t *testing.T) {
	verbstest.Run(t, func(tb verbstest.TB) verbstest.Lab {
		lab, err := verbstest.Child(child())
		if err != nil {
			tb.Fatalf("%v", err)
		}
		return lab
	}, verbstest.Options{})
}

// child is this test binary once more, serving.
func child() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	// The race detector would let each child sleep for a second before it exits.
	cmd.Env = append(os.Environ(), childVariable+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// A hang is a failure that names what was waited for, on every kind of lab, and also at the other side of a pipe.
func TestHangsAreNamed(t *testing.T) {
	for name, lab := range map[string]verbstest.Lab{
		"goroutines": softLab(realTime, 10*time.Millisecond),
		"simulated":  simLab(t),
	} {
		end, err := lab.Open("a", verbstest.EndConfig{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = end.Do(verbstest.Until{Condition: verbstest.Ended{Queue: 7, Class: verbstest.Receives, N: 3}})
		if !errors.Is(err, verbstest.ErrHang) || !strings.Contains(err.Error(), "3 receives of queue pair 7") {
			t.Errorf("%s: a wait for what never comes ended as %v", name, err)
		}
		if err := lab.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
