package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep removes partials that nobody has touched for so long. Those of pushes under way stay.
func (r *Root) Sweep(now time.Time, age time.Duration) error {
	partials, err := r.partials(false)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	defer drop(partials)
	list, err := fs.ReadDir(partials.FS(), ".")
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	var errs []error
	for _, entry := range list {
		errs = append(errs, sweepOne(partials, entry.Name(), now.Add(-age)))
	}
	return errors.Join(errs...)
}

// sweepOne removes a partial that was last touched before a time.
func sweepOne(partials *os.Root, name string, before time.Time) error {
	dir, err := partials.Open(name)
	if missing(err) {
		return nil // its push has ended
	}
	if err != nil {
		return err
	}
	defer drop(dir)
	if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil // it is in use
	}
	if !isStill(partials, name, dir) {
		return nil // the same, and another one has begun perhaps
	}
	for _, file := range []string{"", "/" + infoFile, "/" + manifestFile, "/" + mapFile} {
		if s, err := partials.Lstat(name + file); err == nil && s.ModTime().After(before) {
			return nil
		}
	}
	return sweepAway(partials, name)
}

// sweptSuffix is of partials that are being removed.
const sweptSuffix = ".swept"

// sweepAway removes a partial. It has another name while that lasts: whoever begins the same push meanwhile finds none, and makes one.
func sweepAway(partials *os.Root, name string) error {
	if aside := strings.TrimSuffix(name, sweptSuffix) + sweptSuffix; aside != name {
		if err := errors.Join(partials.RemoveAll(aside), partials.Rename(name, aside)); err != nil {
			return err
		}
		name = aside
	}
	return partials.RemoveAll(name)
}
