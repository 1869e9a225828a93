package push

import "github.com/weft-fabric/weft/push/control"

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
