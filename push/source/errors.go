package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Why a source cannot be sent. Every Error is one of these.
var (
	ErrMissing    = errors.New("does not exist")
	ErrDangling   = errors.New("is a symbolic link that leads nowhere")
	ErrUnreadable = errors.New("cannot be read")
	ErrChanged    = errors.New("has changed since the push began: push again when nobody writes to it")
	ErrDuplicate  = errors.New("arrives under a name that another source has too: rename one, or push them apart")
	ErrRefused    = errors.New("cannot be sent")
	ErrUnexpected = errors.New("has not the SHA-256 that was expected: it is put in place nowhere")
)

// Error says which file is wrong, and how. Whoever sees one has a problem with the source, and with no host.
type Error struct {
	Path   string // as the user named it, and what is below that
	Reason error  // ErrMissing, ErrChanged, ...
	Detail string // may be empty
	Cause  error  // of the system; may be nil
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %v", shown(e.Path), e.Reason)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Cause}
}

// shown is a path as a terminal may see it: quoted if there is anything odd in it.
func shown(path string) string {
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` || path == "" {
		return quoted
	}
	return path
}

// named is an error about a path that a user has named, and that was never seen.
func named(path string, cause error) error {
	if isMissing(cause) {
		return &Error{Path: path, Reason: missing(path)}
	}
	return &Error{Path: path, Reason: ErrUnreadable, Cause: cause}
}

// missing is what is wrong with a path under which nothing was found: a link is there, though what it names is not.
func missing(path string) error {
	if _, err := os.Lstat(withoutSlash(path)); err == nil {
		return ErrDangling
	}
	return ErrMissing
}

// found is an error about something that was seen a moment ago: if it is not there any more, it has changed.
func found(path string, cause error) error {
	if isMissing(cause) || errors.Is(cause, unix.ELOOP) || errors.Is(cause, unix.EXDEV) {
		return &Error{Path: path, Reason: ErrChanged, Detail: "it was replaced or removed"}
	}
	return &Error{Path: path, Reason: ErrUnreadable, Cause: cause}
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}
