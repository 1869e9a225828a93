package manifest

import "strings"

// order checks that entries come in the order of a walk.
//
// Invariant: open and all directories above it were entries, of kind Directory, and nothing beside them has come since. "" is the
// destination itself.
type order struct{ open string }

// next takes the next entry.
func (o *order) next(e *Entry) error {
	parent := ""
	if cut := strings.LastIndexByte(e.Path, '/'); cut >= 0 {
		parent = e.Path[:cut]
	}
	if !o.within(parent) {
		return e.wrong("its directory must be an entry, and all that is in a directory must follow it at once")
	}
	if o.open = parent; e.Kind == Directory {
		o.open = e.Path
	}
	return nil
}

// within reports whether a directory is the open one or above it.
func (o *order) within(directory string) bool {
	rest, ok := strings.CutPrefix(o.open, directory)
	return ok && (directory == "" || rest == "" || rest[0] == '/')
}
