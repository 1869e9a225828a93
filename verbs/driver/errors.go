package driver

import "errors"

// What can be wrong with a call. Providers wrap these where they fit, so that programs can ask with errors.Is; package
// verbs has the same variables under the same names.
var (
	// ErrArgument means that something is missing, malformed or out of range.
	ErrArgument = errors.New("bad argument")
	// ErrLimit means that the device cannot do so much, or has no more to give.
	ErrLimit = errors.New("over the device's limit")
	// ErrNotSupported means that the device cannot do that at all.
	ErrNotSupported = errors.New("not supported by this device")
	// ErrClosed means that the object, or the device below it, was closed or has died.
	ErrClosed = errors.New("closed")
)
