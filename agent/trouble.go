package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/target"
	"github.com/weft-fabric/weft/push/way"
)

// maxTrouble is how many bytes a pusher is told of what went wrong.
const maxTrouble = 2048

// malformed is a request that makes no sense.
func malformed(format string, args ...any) error {
	return &control.Trouble{Class: control.Other, Text: fmt.Sprintf("malformed request: "+format, args...)}
}

// notUnderstood is one that could not be decoded, or not wholly.
func notUnderstood(err error) error {
	return &control.Trouble{Class: control.Other, Text: fmt.Sprintf("request: %v", err)}
}

// refused is what somebody may not do.
func refused(format string, args ...any) error {
	return &control.Trouble{Class: control.Authorization, Text: fmt.Sprintf(format, args...)}
}

// untimely is a request at the wrong time.
func untimely(format string, args ...any) error {
	return &control.Trouble{Class: control.Other, Text: fmt.Sprintf(format, args...)}
}

// corrupt is what does not fit its hash, or its signature.
func corrupt(format string, args ...any) error {
	return &control.Trouble{Class: control.Integrity, Text: fmt.Sprintf(format, args...)}
}

// unfit is what has to be changed at a host before it can be pushed to.
func unfit(format string, args ...any) error {
	return &control.Trouble{Class: control.Preflight, Text: fmt.Sprintf(format, args...)}
}

// preflights are the errors of a disk that somebody can do something about.
var preflights = []error{
	target.ErrInUse, target.ErrExists, target.ErrIsDirectory, target.ErrNotDirectory, target.ErrOutside, target.ErrOtherFilesystem,
	target.ErrSpace, target.ErrPermission, target.ErrChanged, member.ErrMemory, way.ErrNoWay, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, fs.ErrPermission,
}

// corruptions are what does not fit its hash or its signature.
var corruptions = []error{manifest.ErrPage, manifest.ErrBlock, manifest.ErrClosing, manifest.ErrManifest, manifest.ErrEntry}

// troubleOf is an error as a pusher is told it.
func troubleOf(err error) *control.Trouble {
	var known *control.Trouble
	if errors.As(err, &known) {
		return &control.Trouble{Class: known.Class, Cause: known.Cause, Text: printable.Clean(err.Error(), maxTrouble)}
	}
	return &control.Trouble{Class: classOf(err), Cause: causeOf(err), Text: printable.Clean(err.Error(), maxTrouble)}
}

// causeOf is what is wrong without names and numbers, which differ from host to host.
func causeOf(err error) string {
	for _, known := range preflights {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return ""
}

func classOf(err error) control.Class {
	is := func(known error) bool { return errors.Is(err, known) }
	switch {
	case slices.ContainsFunc(preflights, is):
		return control.Preflight
	case slices.ContainsFunc(corruptions, is):
		return control.Integrity
	case is(context.DeadlineExceeded):
		return control.Late
	case is(context.Canceled):
		return control.Interrupted
	}
	return control.Other
}
