package target

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// Differing says, when all that can match has matched, which entries are missing and which are different: the first few of each, and
// how many in all. Small files that share a block which does not match are all named: one of them is different.
func (d *Delivery) Differing() (missing, different []string, n int) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.ready() != nil {
		return nil, nil, 0
	}
	v := &verification{survey: survey{Delivery: d, index: d.index, folders: folders{dest: d.place.dir}}}
	defer v.folders.close()
	if err := d.index.Entries(v.entry); err != nil {
		v.different.add(fmt.Sprintf("the manifest: %v", err))
	}
	return v.missing.first, v.different.first, v.missing.count + v.different.count
}

// verification is one run of Differing.
type verification struct {
	survey
	missing, different names
}

func (v *verification) entry(number, at uint64, e *manifest.Entry) error {
	there, err := v.look(e)
	switch {
	case missing(err):
		v.missing.add(v.place.shown(e.Path))
	case err != nil || !v.same(number, at, e, &there):
		v.different.add(v.place.shown(e.Path))
	}
	return nil
}

func (v *verification) same(number, at uint64, e *manifest.Entry, there *unix.Stat_t) bool {
	switch e.Kind {
	case manifest.Directory:
		return isKind(there, unix.S_IFDIR)
	case manifest.File:
		return v.placed.has(number) && v.matched(at, e.Content())
	}
	return v.sameLink(e, there)
}

// matched reports whether no block of a part of the content is other than it should be. Blocks that were not examined have parts that
// are missing, which is said of those.
func (v *verification) matched(at, length uint64) bool {
	for block := range v.blocksOf(at, length) {
		if (v.hashed.has(block) || v.unread.has(block)) && !v.held.has(block) {
			return false
		}
	}
	return true
}
