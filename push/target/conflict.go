package target

import "github.com/weft-fabric/weft/push/manifest"

// conflicts refuses, before anything gets its name, what would be refused when it is the turn of its name: what an earlier attempt has begun to
// write is not compared before all of it is here.
func (c *commit) conflicts() error {
	if c.order.Force || c.place.absent() {
		return nil
	}
	found := &conflicts{commit: c, folders: folders{dest: c.place.dir}}
	defer found.folders.close()
	if err := c.index.Entries(found.entry); err != nil {
		return err
	}
	if found.different.count > 0 {
		return found.different.conflict()
	}
	return nil
}

// conflicts are the files that are in the way of others.
type conflicts struct {
	*commit
	folders   folders
	different names
}

// entry looks whether a file is in the way of one that came. Other trouble is left to whoever gives it its name.
func (c *conflicts) entry(number, _ uint64, e *manifest.Entry) error {
	if e.Kind != manifest.File || c.placed.has(number) {
		return nil
	}
	dir, name, err := c.folders.of(c.place.of(e.Path))
	if err != nil {
		return nil //nolint:nilerr // whoever gives it its name says so
	}
	if _, err := statAt(dir, name); err != nil {
		return nil //nolint:nilerr // as a rule, nothing is there
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	_, same, stopped := c.sameContent(&placing{e, number, dataName(number), dir, name})
	if !same {
		c.different.add(c.place.shown(e.Path))
	}
	return stopped
}
