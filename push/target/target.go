// Package target is the disk of a receiver: it takes the blocks of a push, keeps them until all are there, and gives the files
// their names. It is for the agent of a host, which says what comes from whom; this package knows no network.
//
// All lies below one root. What is not finished is in root/.weft/partial, a folder for each push, under numbers and not under names
// of the source; so nothing has a name of the source until it is whole. A push that was interrupted finds its folder again.
//
//	root, err := target.OpenRoot("/data")
//	delivery, err := root.Begin(order)
//	delivery.WriteManifest(block, payload) … ; delivery.ManifestDone(ctx, progress)
//	delivery.Examine(ctx, progress); delivery.Match(block, want) … ; delivery.Conflicts()
//	delivery.Write(block, payload) …
//	delivery.Commit(ctx)
//
// Nothing outside the root is touched, whatever a manifest says and whoever changes directories meanwhile: DEST is resolved
// beneath the root by the kernel, and below DEST no symbolic link is followed.
package target

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// Order is what a push wants of a host.
type Order struct {
	ID       manifest.ID
	Owner    string // who pushes, for people
	Dest     string // absolute: below the root; relative: to the root
	Single   bool   // the only entry is one file: unless Dest is a directory, it is its name
	Force    bool   // files with other content are replaced
	Preserve bool   // keep the sticky bit; when this process is root, owners, setuid and setgid too
	Checksum bool   // of no matter here: what is on disk is always hashed
	Verify   bool   // compare only: nothing is created or changed
	Manifest manifest.Summary
	Block    int // bytes of a block's payload
}

// InUse is a push that is under way.
type InUse struct {
	ID    manifest.ID
	Owner string
	Dest  string
	Since time.Time
}

// Result is what a commit did with the files, links included.
type Result struct {
	Written uint64
	Skipped uint64 // they were there already, identical
}

// What can be in the way. All errors of this package that have one of these causes say so to errors.Is.
var (
	ErrInUse           = errors.New("another push is writing there")
	ErrSpace           = errors.New("not enough space")
	ErrPermission      = errors.New("no permission")
	ErrExists          = errors.New("something else is there already: -f replaces it")
	ErrIsDirectory     = errors.New("a directory is there, which is never replaced by a file")
	ErrNotDirectory    = errors.New("something is there that is not a directory, and is never replaced by one")
	ErrOutside         = errors.New("outside the agent's root")
	ErrOtherFilesystem = errors.New("on another filesystem than the agent's root: files could not be renamed into place")
	ErrChanged         = errors.New("changed during the push: push again")
)

// causes are the errors of the kernel that have a cause of ours.
var causes = map[unix.Errno]error{
	unix.ENOSPC: ErrSpace, unix.EDQUOT: ErrSpace,
	unix.EACCES: ErrPermission, unix.EPERM: ErrPermission, unix.EROFS: ErrPermission,
	unix.EISDIR: ErrIsDirectory, unix.ENOTDIR: ErrNotDirectory, unix.ELOOP: ErrNotDirectory,
	unix.EEXIST: ErrExists, unix.EXDEV: ErrOtherFilesystem,
}

// explain says what was being done, and adds the cause.
func explain(err error, what, path string) error {
	if err == nil {
		return nil
	}
	var number unix.Errno
	if errors.As(err, &number) && causes[number] != nil {
		return fmt.Errorf("%s %q: %w (%w)", what, path, causes[number], number)
	}
	return fmt.Errorf("%s %q: %w", what, path, err)
}
