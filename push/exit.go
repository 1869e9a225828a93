package push

import (
	"context"
	"errors"

	"github.com/weft-fabric/weft/push/control"
)

// The exit codes of weft push.
const (
	ExitOK          = 0
	ExitOther       = 1
	ExitUsage       = 2
	ExitSource      = 3
	ExitNoHost      = 4
	ExitPartial     = 5
	ExitIntegrity   = 6
	ExitAuth        = 7
	ExitPreflight   = 8
	ExitLate        = 9
	ExitInterrupted = 130
)

// exitOf is the exit code of a class, if all that went wrong is of that class.
var exitOf = map[control.Class]int{
	control.Source: ExitSource, control.Unreachable: ExitNoHost, control.Integrity: ExitIntegrity, control.Authorization: ExitAuth,
	control.Preflight: ExitPreflight, control.Late: ExitLate, control.Interrupted: ExitInterrupted,
}

// exitCode is the exit code of a push, by what ended it as a whole, if something did, and how it ended for the hosts.
func exitCode(whole error, all []HostReport) int {
	if code := exitOf[wholeClass(whole)]; code != ExitOK {
		return code
	}
	well, classes := 0, make(map[control.Class]bool) // in a dry run it is well to be ready
	for _, h := range all {
		if h.Outcome == OutcomeFailed {
			classes[h.Class] = true
		} else {
			well++
		}
	}
	switch {
	case whole == nil && well == len(all):
		return ExitOK
	case well > 0 && well < len(all):
		return ExitPartial
	case len(classes) == 1:
		return exitOfAll(all[0].Class)
	}
	return ExitOther
}

// wholeClass is the class of what ends a push whoever has got what: the source, time, and people.
func wholeClass(err error) control.Class {
	switch {
	case err == nil:
		return control.Other
	case errors.Is(err, context.DeadlineExceeded):
		return control.Late // the caller's own
	}
	switch class := troubleOf(err).Class; class {
	case control.Source, control.Late, control.Interrupted, control.Integrity:
		return class
	default:
		return control.Other
	}
}

func exitOfAll(class control.Class) int {
	if code, ok := exitOf[class]; ok {
		return code
	}
	return ExitOther
}
