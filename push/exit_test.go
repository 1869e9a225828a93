package push

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

func TestExitCodes(t *testing.T) {
	ok, ready := HostReport{Outcome: OutcomeVerified}, HostReport{Outcome: OutcomeReady}
	bad := func(class control.Class) HostReport { return HostReport{Outcome: OutcomeFailed, Class: class} }
	for _, c := range []struct {
		name  string
		whole error
		hosts []HostReport
		want  int
	}{
		{"all", nil, []HostReport{ok, ok}, ExitOK},
		{"all, in a dry run", nil, []HostReport{ready, ready}, ExitOK},
		{"some, in a dry run", nil, []HostReport{ready, bad(control.Preflight)}, ExitPartial},
		{"some", nil, []HostReport{ok, bad(control.Unreachable)}, ExitPartial},
		{"nobody reached", nil, []HostReport{bad(control.Unreachable), bad(control.Unreachable)}, ExitNoHost},
		{"nobody believes us", nil, []HostReport{bad(control.Authorization)}, ExitAuth},
		{"no room anywhere", nil, []HostReport{bad(control.Preflight)}, ExitPreflight},
		{"wrong everywhere", nil, []HostReport{bad(control.Integrity)}, ExitIntegrity},
		{"all for other reasons", nil, []HostReport{bad(control.Other)}, ExitOther},
		{"none, for several reasons", nil, []HostReport{bad(control.Unreachable), bad(control.Preflight)}, ExitOther},
		{"the source, whoever is done", ofSource(errors.New("changed")), []HostReport{ok, bad(control.Source)}, ExitSource},
		{"deadline", fmt.Errorf("%w: 1s", ErrDeadline), []HostReport{ok, bad(control.Late)}, ExitLate},
		{"the caller's deadline", context.DeadlineExceeded, []HostReport{bad(control.Late)}, ExitLate},
		{"stalled", ErrStalled, []HostReport{bad(control.Late)}, ExitLate},
		{"interrupted", ErrInterrupted, []HostReport{ok, bad(control.Interrupted)}, ExitInterrupted},
		{"cancelled", context.Canceled, []HostReport{bad(control.Interrupted)}, ExitInterrupted},
		{"not what was expected", &control.Trouble{Class: control.Integrity}, []HostReport{bad(control.Integrity)}, ExitIntegrity},
		{"something else, none is done", errors.New("?"), []HostReport{bad(control.Other)}, ExitOther},
		{"something else, at the end", errors.New("?"), []HostReport{ok}, ExitOther},
	} {
		if got := exitCode(c.whole, c.hosts); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
}

func TestClassesOfErrors(t *testing.T) {
	for want, err := range map[control.Class]error{
		control.Authorization: fmt.Errorf("hello: %w", ripc.ErrForbidden),
		control.Unreachable:   fmt.Errorf("hello: %w: %w", ripc.ErrUnreachable, context.DeadlineExceeded),
		control.Preflight:     fmt.Errorf("open: %w", &control.Trouble{Class: control.Preflight}),
		control.Late:          fmt.Errorf("open: %w", ErrDeadline),
		control.Interrupted:   context.Canceled,
		control.Other:         errors.New("?"),
	} {
		if got := troubleOf(err).Class; got != want {
			t.Errorf("%v is of class %s, want %s", err, got, want)
		}
	}
}
