package pinned

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) {
	Main(map[string]Role{"where": where, "echo": echo, "fail": fail, "forever": forever})
	leaktest.Main(m)
}

// place is where a role runs.
type place struct {
	Cores int // that it may use
	Core  int // the first of them
	Procs int
}

func where(parent *Line) error {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return err
	}
	core := 0
	for !may.IsSet(core) {
		core++
	}
	return parent.Send(place{may.Count(), core, runtime.GOMAXPROCS(0)})
}

func echo(parent *Line) error {
	var v string
	for parent.Receive(&v) == nil { // until the parent closes
		if err := parent.Send(v); err != nil {
			return err
		}
	}
	return nil
}

func fail(parent *Line) error { return errors.New("on purpose") }

func forever(parent *Line) error {
	time.Sleep(time.Hour)
	return nil
}

// What there is on this machine, asked before any test could change it.
var firstCore, secondCore, oneCore = Cores()

func twoCores(t *testing.T) (first, second int) {
	t.Helper()
	if oneCore != nil {
		t.Skip(oneCore)
	}
	return firstCore, secondCore
}

func TestEachRoleStaysOnItsCore(t *testing.T) {
	first, second := twoCores(t)
	var a, b place
	err := Two("where", "where", func(near, far *Process) error { return errors.Join(near.Receive(&a), far.Receive(&b)) })
	if err != nil {
		t.Fatal(err)
	}
	if want := (place{1, first, 1}); a != want {
		t.Errorf("the near process is at %+v, want %+v", a, want)
	}
	if want := (place{1, second, 1}); b != want {
		t.Errorf("the far process is at %+v, want %+v", b, want)
	}
}

func TestOnCoreFreesTheThreadAgain(t *testing.T) {
	first, _ := twoCores(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, inside, after unix.CPUSet
	err := errors.Join(unix.SchedGetaffinity(0, &before),
		OnCore(first, func() error { return unix.SchedGetaffinity(0, &inside) }), unix.SchedGetaffinity(0, &after))
	if err != nil || inside.Count() != 1 || !inside.IsSet(first) || before != after {
		t.Errorf("cores %v before, %v inside, %v after (%v)", before, inside, after, err)
	}
}

func TestAFailureIsTold(t *testing.T) {
	twoCores(t)
	for name, run := range map[string]func() error{
		"alone": func() error { return One("fail", func(p *Process) error { return p.Receive(new(string)) }) },
		"the far one, while the parent waits for the near one": func() error {
			return Two("forever", "fail", func(near, _ *Process) error { return near.Receive(new(string)) })
		},
		"the near one, while the parent waits for the far one": func() error {
			return Two("fail", "forever", func(_, far *Process) error { return far.Receive(new(string)) })
		},
	} {
		start := time.Now()
		err := run()
		if err == nil || !strings.Contains(err.Error(), "fail: on purpose") || strings.Contains(err.Error(), "forever") {
			t.Errorf("%s: the error is %v", name, err)
		}
		if took := time.Since(start); took > Patience/2 {
			t.Errorf("%s: it took %v to notice", name, took)
		}
	}
}

func TestAnUnknownRoleIsNamed(t *testing.T) {
	twoCores(t)
	err := One("nobody", func(p *Process) error { return p.Receive(new(string)) })
	if err == nil || !strings.Contains(err.Error(), "WEFT_BENCH_ROLE=nobody is no role") {
		t.Errorf("the error is %v", err)
	}
}

func TestAStoppedProcessStandsStill(t *testing.T) {
	twoCores(t)
	err := One("echo", func(p *Process) error {
		if err := p.Stop(); err != nil {
			return err
		}
		if stopped, err := stands(p.command.Process.Pid); !stopped || err != nil {
			t.Errorf("it is stopped: %v (%v)", stopped, err)
		}
		var heard string
		if err := errors.Join(p.Send("after all"), p.Continue(), p.Receive(&heard)); err != nil {
			return err
		}
		if heard != "after all" {
			t.Errorf("it said %q", heard)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
