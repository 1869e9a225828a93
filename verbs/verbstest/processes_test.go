package verbstest_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// pauseVariable is how a crew tells a process where to pause.
const pauseVariable = "WEFT_PAUSE"

// pausingDevice stops its process when its second domain is opened.
type pausingDevice struct {
	driver.Device
	domains int
}

func (d *pausingDevice) NewDomain() (driver.Domain, error) {
	if d.domains++; d.domains == 2 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return nil, err
		}
	}
	return d.Device.NewDomain()
}

// pausingLab is what a child serves that was told to pause.
func pausingLab() verbstest.Lab {
	return verbstest.Goroutines(verbstest.GoroutineConfig{Open: func() (driver.Device, error) {
		d, err := soft.New(soft.Config{})
		return &pausingDevice{Device: d}, err
	}})
}

// Each end can be a process of its own. The lane in this test does not lead from one process to another, so the tests
// that pass are those of one end.
func TestOneProcessForEachEnd(t *testing.T) {
	crew := verbstest.Processes(child, small(realTime))
	alone := []string{"EndsConnectToThemselves", "CompletionQueueReservesRoom", "ChildrenCloseFirst", "TimersComeInOrder"}
	verbstest.Run(t, crew.Lab, verbstest.Options{Only: alone})
	if err := crew.Close(); err != nil {
		t.Error(err)
	}
}

// An end that is killed is gone, one that is stopped does not answer until it goes on, and others go on meanwhile.
func TestSignalsAreReal(t *testing.T) {
	crew := verbstest.Processes(child, small(realTime))
	lab := crew.Lab(t)
	victim, other := open(t, lab, "victim", verbstest.EndConfig{}), open(t, lab, "other", verbstest.EndConfig{})
	beside := open(t, lab, "beside", verbstest.EndConfig{Beside: "other"})
	signal(t, victim, verbstest.KillEnd)
	answers(t, victim, false)
	signal(t, other, verbstest.StopEnd)
	answers(t, other, false)
	signal(t, other, verbstest.ContinueEnd)
	answers(t, other, true)
	answers(t, beside, true)
	if _, err := lab.Open("lost", verbstest.EndConfig{Beside: "nobody"}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an end beside nobody was opened: %v", err)
	}
	if err := errors.Join(lab.Close(), crew.Close()); err != nil {
		t.Error(err)
	}
}

// An end that stops by itself is waited for, and answers when it goes on; one that does so and is closed goes on, too.
func TestPausesAreWaitedFor(t *testing.T) {
	crew := verbstest.Processes(child, small(realTime))
	lab := crew.Lab(t)
	for _, name := range []string{"goes on", "is closed"} {
		end := open(t, lab, name, verbstest.EndConfig{Pause: "second domain"})
		answered := make(chan error, 1)
		go runCommand(end, verbstest.OpenDomain{}, answered)
		signal(t, end, verbstest.AwaitPause)
		answers(t, end, false)
		if name == "goes on" {
			signal(t, end, verbstest.ContinueEnd)
		} else if err := end.Close(); err != nil {
			t.Error(err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(lab.Close(), crew.Close()); err != nil {
		t.Error(err)
	}
}

// runCommand is stopped by the answer, which the test waits for.
func runCommand(end verbstest.End, c verbstest.Command, answered chan<- error) {
	_, err := end.Do(c)
	answered <- err
}

func open(t *testing.T, lab verbstest.Lab, name string, config verbstest.EndConfig) verbstest.End {
	t.Helper()
	end, err := lab.Open(name, config)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func signal(t *testing.T, end verbstest.End, s verbstest.Signal) {
	t.Helper()
	if err := end.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func answers(t *testing.T, end verbstest.End, should bool) {
	t.Helper()
	if _, err := end.Do(verbstest.Inspect{}); (err == nil) != should {
		t.Errorf("it answers with %v, and should answer is %t", err, should)
	}
}
