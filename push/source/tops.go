package source

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkTops refuses sources of the same name. Names in directories of which the contents are sent are looked at on the way.
func checkTops(roots []*root) error {
	tops := make(map[string]*root)
	for _, r := range roots {
		if r.top == "" {
			continue
		}
		if other := tops[r.top]; other != nil {
			return duplicate(other.given, r.given)
		}
		tops[r.top] = r
	}
	return nil
}

// has reports whether a source has a name at the top of the receiver's directory.
func (r *root) has(name string) bool {
	if r.top != "" {
		return r.top == name
	}
	var stat unix.Stat_t
	return unix.Fstatat(r.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func duplicate(one, other string) error {
	return &Error{Path: one, Reason: ErrDuplicate, Detail: fmt.Sprintf("the other is %s", shown(other))}
}
