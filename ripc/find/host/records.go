package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// fileOf is the name of the file of a service, or of a member of a group: the ID in hexadecimal digits, and the member's.
func fileOf(k find.Key) string {
	name := hex.EncodeToString(k.Service[:])
	if k.Node != (wire.ID{}) {
		name += "." + hex.EncodeToString(k.Node[:])
	}
	return name
}

// isRecord reports whether a file's name is one that fileOf gives.
func isRecord(name string) bool {
	service, node, member := strings.Cut(name, ".")
	return isID(service) && (!member || isID(node))
}

func isID(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 2*len(wire.ID{})
}

// writeRecord writes the file of a service. The caller has the directory's lock.
func (d *directory) writeRecord(name string, by holder, r *find.Record) error {
	return d.write(name, r.Append(by[:]))
}

// readRecord reads the file of a service. One that is not such a file is fs.ErrNotExist, and the log hears of it.
func (d *directory) readRecord(name string) (by holder, r find.Record, err error) {
	b, err := d.read(name, len(by)+find.MaxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return by, r, err
	}
	if err == nil {
		by, r, err = decode(b)
	}
	if err == nil && fileOf(r.Key()) != name {
		err = fmt.Errorf("it is that of %s", r.Title())
	}
	if err != nil {
		d.report(name, err)
		return by, r, fmt.Errorf("%s: %w: %w", name, err, fs.ErrNotExist)
	}
	return by, r, nil
}

// decode takes the file of a service apart.
func decode(b []byte) (by holder, r find.Record, err error) {
	if len(b) < len(by) {
		return by, r, fmt.Errorf("it has only %d bytes", len(b))
	}
	copy(by[:], b)
	r, err = find.Decode(b[len(by):])
	return by, r, err
}

// removeOwn removes the file of a service, if the holder has it. The caller has the directory's lock.
func (d *directory) removeOwn(name string, mine holder) error {
	if by, _, err := d.readRecord(name); err == nil && by == mine {
		return d.remove(name)
	}
	return nil // somebody else's, or none
}

// held is a record, and who has it.
type held struct {
	by     holder
	record find.Record
}

// held returns the records of files whose names begin so, of the living and the dead.
func (d *directory) held(prefix string) ([]held, error) {
	names, err := d.names(prefix)
	if err != nil {
		return nil, err
	}
	var all []held
	for _, name := range names {
		if !isRecord(name) {
			continue
		}
		if by, r, err := d.readRecord(name); err == nil {
			all = append(all, held{by, r})
		}
	}
	return all, nil
}

// living returns the records whose holders live. Each holder is looked at once.
func (d *directory) living(all []held) (records []find.Record) {
	dead := map[holder]bool{}
	for _, h := range all {
		if _, known := dead[h.by]; !known {
			dead[h.by] = d.dead(h.by)
		}
		if !dead[h.by] {
			records = append(records, h.record)
		}
	}
	return records
}

// Find reads the service's file. A service whose process stands still is found, one whose process is dead is not.
func (r *Resolver) Find(_ context.Context, id wire.ID) ([]find.Record, error) {
	records, err := r.find(id)
	if err == nil && len(records) == 0 {
		err = find.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("find %v on this host: %w", id, err)
	}
	return records, nil
}

func (r *Resolver) find(id wire.ID) ([]find.Record, error) {
	name := fileOf(find.Key{Service: id})
	if r.ctx.Err() != nil {
		return nil, find.ErrClosed
	}
	if id.Kind() == wire.Group {
		members, err := r.dir.held(name + ".")
		return r.dir.living(members), err
	}
	by, record, err := r.dir.readRecord(name)
	if err != nil || r.dir.dead(by) {
		return nil, find.ErrNotFound
	}
	return []find.Record{record}, nil
}

// List reads the files of all services.
func (r *Resolver) List(context.Context) ([]find.Record, error) {
	if r.ctx.Err() != nil {
		return nil, fmt.Errorf("services of this host: %w", find.ErrClosed)
	}
	all, err := r.dir.held("")
	if err != nil {
		return nil, fmt.Errorf("services of this host: %w", err)
	}
	return r.dir.living(all), nil
}

// sweep removes what the dead have left: their holder files, the files of their services, and what they were writing. The
// caller has the directory's lock.
func (d *directory) sweep() {
	names, _ := d.names("") // who needs the directory says what is wrong with it
	for _, name := range names {
		if d.left(name) {
			_ = d.remove(name) // or the next one does
		}
	}
}

// left reports whether a file was left by a dead process.
func (d *directory) left(name string) bool {
	if digits, ok := strings.CutPrefix(name, holderPrefix); ok && isID(digits) {
		var h holder
		_, _ = hex.Decode(h[:], []byte(digits))
		return d.dead(h)
	}
	if isRecord(name) {
		by, _, err := d.readRecord(name)
		return err == nil && d.dead(by)
	}
	return strings.HasPrefix(name, newFile)
}
