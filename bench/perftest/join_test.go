package perftest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// strict is a device that takes no long messages.
type strict struct {
	driver.Device
	most uint32
}

func (s strict) Limits() driver.Limits {
	l := s.Device.Limits()
	l.MaxMessage = s.most
	return l
}

func openStrict(t *testing.T, lanes soft.Lanes, most uint32) *verbs.Device {
	t.Helper()
	nic, err := soft.New(soft.Config{Lanes: lanes})
	if err != nil {
		t.Fatal(err)
	}
	device, err := verbs.Open(strict{nic, most})
	if err != nil {
		t.Fatal(err)
	}
	return device
}

// between carries a plan out between two devices, on an exchange that stays, and returns what either side ends with.
func between(t *testing.T, client *Client, devices [2]*verbs.Device, a, b *Pipe) (here, there error) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- (&Server{Side{Device: devices[1], Exchange: b}}).Serve(context.Background()) }()
	client.Side = Side{Device: devices[0], Exchange: a}
	here, there = client.Run(context.Background()), <-served
	if err := errors.Join(devices[0].Close(), devices[1].Close()); err != nil {
		t.Error(err)
	}
	return here, there
}

// Sizes that a device does not take are left out, at both sides, whichever device it is.
func TestSizesAreCut(t *testing.T) {
	const mega = uint32(units.MiB)
	for _, limits := range [][2]uint32{{mega, 8 * mega}, {8 * mega, mega}} {
		plan := smallPlan()
		plan.Sizes = []units.Size{8, units.MiB, units.MiB + 1, 3 * units.MiB}
		var most units.Size
		results := 0
		client := &Client{Plan: plan, Cut: func(_ Plan, m units.Size) { most = m }, Report: func(Result) { results++ }}
		devices := [2]*verbs.Device{openStrict(t, 0, limits[0]), openStrict(t, 0, limits[1])}
		a, b := NewPipe()
		if err := errors.Join(between(t, client, devices, a, b)); err != nil {
			t.Fatalf("limits %d: %v", limits, err)
		}
		if most != units.MiB || !slices.Equal(client.Plan.Sizes, plan.Sizes[:2]) || results != len(client.Plan.Runs()) {
			t.Errorf("limits %d: cut at %v to %v, %d results", limits, most, client.Plan.Sizes, results)
		}
	}
}

// If no size is left, both sides say what is wrong.
func TestNothingIsLeft(t *testing.T) {
	plan := smallPlan()
	plan.Sizes = []units.Size{3 * units.MiB}
	client := &Client{Plan: plan, Report: func(Result) {}}
	devices := [2]*verbs.Device{openStrict(t, 0, 1<<30), openStrict(t, 0, 4096)}
	a, b := NewPipe()
	here, there := between(t, client, devices, a, b)
	for _, err := range []error{here, there} {
		if err == nil || !strings.Contains(err.Error(), "the device takes 4096 at most") {
			t.Errorf("%v and %v", here, there)
		}
	}
}

// Devices that do not reach each other end both sides with ErrConnect, and the exchange is good for another try.
func TestAnotherTry(t *testing.T) {
	a, b := NewPipe()
	results := 0
	client := &Client{Plan: smallPlan(), Report: func(Result) { results++ }}
	const most = 1 << 30
	apart := [2]*verbs.Device{openStrict(t, soft.InProcess, most), openStrict(t, soft.TCP, most)}
	here, there := between(t, client, apart, a, b)
	if !errors.Is(here, ErrConnect) || !errors.Is(there, ErrConnect) || results > 0 {
		t.Fatalf("%d results, %v and %v", results, here, there)
	}
	near := [2]*verbs.Device{openStrict(t, soft.InProcess, most), openStrict(t, soft.InProcess, most)}
	if err := errors.Join(between(t, client, near, a, b)); err != nil || results != len(client.Plan.Runs()) {
		t.Errorf("%d results, %v", results, err)
	}
}

// Only if nobody failed for another reason is another try of use: both sides come to the same.
func TestCutOff(t *testing.T) {
	fine, away, aborted := note{}, note{Failed: "no route", CutOff: true}, note{Failed: "interrupted"}
	for _, c := range []struct {
		a, b note
		want bool
	}{{away, fine, true}, {away, away, true}, {aborted, fine, false}, {away, aborted, false}, {fine, fine, false}} {
		here, there := cutOff(c.a, c.b, errAborted), cutOff(c.b, c.a, errAborted)
		if errors.Is(here, ErrConnect) != c.want || errors.Is(there, ErrConnect) != c.want {
			t.Errorf("%+v and %+v: %v and %v", c.a, c.b, here, there)
		}
	}
}
