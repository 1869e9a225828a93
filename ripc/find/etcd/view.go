package etcd

import (
	"maps"

	"github.com/weft-fabric/weft/ripc/find"
)

// view is what this process knows of the directory. It is always what the directory was at one moment.
type view struct {
	revision int64            // of that moment, or of the last change before it
	entries  map[string]entry // all records and wishes, by key
}

// put notes that an entry was written, and returns what that means for those who watch.
func (v *view) put(key string, e entry) (changes []find.Change) {
	old, known := v.entries[key]
	v.entries[key] = e
	switch {
	case isWish(key):
		return nil
	case !known:
		return []find.Change{{What: find.Came, Record: e.record}}
	case old.revision != e.revision:
		return []find.Change{{What: find.Moved, Record: e.record}}
	}
	return nil
}

// remove notes that a key is gone.
func (v *view) remove(key string) (changes []find.Change) {
	old, known := v.entries[key]
	delete(v.entries, key)
	if isWish(key) || !known {
		return nil
	}
	return []find.Change{{What: find.Gone, Record: old.record}}
}

// replace makes it what the directory was at a later moment, and returns what has changed in between.
func (v *view) replace(now view) (changes []find.Change) {
	for key := range maps.Clone(v.entries) {
		if _, ok := now.entries[key]; !ok {
			changes = append(changes, v.remove(key)...)
		}
	}
	for key, e := range now.entries {
		changes = append(changes, v.put(key, e)...)
	}
	v.revision = now.revision
	return changes
}

// records returns all records; wishes are left out.
func (v *view) records() (records []find.Record) {
	for key, e := range v.entries {
		if !isWish(key) {
			records = append(records, e.record)
		}
	}
	return records
}
