package find

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/internal/cursor"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Limits of a record.
const (
	MaxAddresses = 8   // of one process
	MaxAddress   = 255 // bytes of one address
	// MaxEpoch is the highest epoch that can be claimed. So there is always a higher one to give.
	MaxEpoch = 1<<63 - 1
	// MaxRecord is how many bytes a record has at most.
	MaxRecord = headSize + wire.MaxName + MaxAddresses*(1+MaxAddress)
)

// Record says where a service is. Records are passed around by value and shared: nobody changes At.
type Record struct {
	Service wire.ID
	Name    string   // empty for a service whose ID was drawn
	Epoch   uint64   // which incarnation: a higher one replaces a lower one. 0 is any: who told does not know it
	Node    wire.ID  // the process that it runs in: drawn anew with every start. Nobody if who told does not know it
	At      []string // where the process listens, as connect.Dial takes it ("unix:@name", "host:port"), the best first
}

// The bytes of a record: version · service (16) · node (16) · epoch (8) · how many addresses · length and bytes of the name ·
// length and bytes of each address.
const (
	recordVersion = 1
	headSize      = 1 + 16 + 16 + 8 + 1 + 1
)

// Check says what is wrong with a record, as an ErrRecord.
func (r *Record) Check() error {
	if err := r.checkName(); err != nil {
		return err
	}
	if kind := r.Node.Kind(); !r.Node.Valid() || kind != wire.Random && kind != wire.Nobody {
		return broken("the ID of its process is %v: that is one that was drawn", r.Node)
	}
	if len(r.At) == 0 || len(r.At) > MaxAddresses {
		return broken("%d addresses, a process has 1 to %d", len(r.At), MaxAddresses)
	}
	for _, address := range r.At {
		if address == "" {
			return broken("an empty address")
		}
		if err := printable.Check("address", address, MaxAddress); err != nil {
			return broken("%w", err)
		}
	}
	return nil
}

// checkName finds whether name and ID belong together.
func (r *Record) checkName() error {
	var want wire.ID
	switch r.Service.Kind() {
	case wire.Named:
		want = wire.NameID(r.Name)
	case wire.Group:
		want = wire.GroupID(r.Name)
	case wire.Random:
		if r.Name != "" {
			return broken("the service was drawn and has no name, but here it is called %q", r.Name)
		}
		return nil
	default:
		return broken("a record of %v", r.Service)
	}
	if r.Name == "" || printable.Check("name", r.Name, wire.MaxName) != nil {
		return broken("%q is %w", printable.Clean(r.Name, wire.MaxName), wire.ErrName)
	}
	if want != r.Service {
		return broken("the name %q belongs to %v, not to %v", r.Name, want, r.Service)
	}
	return nil
}

// CheckClaim says what is wrong with a record that a process claims, as an ErrRecord: it has to name the process.
func (r *Record) CheckClaim() error {
	if r.Node == (wire.ID{}) {
		return broken("a claim has to say for which process it is, but Node is empty")
	}
	if r.Epoch > MaxEpoch {
		return broken("epoch %d, the highest that can be claimed is %d", r.Epoch, uint64(MaxEpoch))
	}
	return r.Check()
}

// Key is equal for records of which only one can hold: those of one service, or of one member of a group.
type Key struct {
	Service wire.ID
	Node    wire.ID // of a member of a group
	At      string  // of a member of a group whose Node is not known
}

// Key is what the record is one of.
func (r *Record) Key() Key {
	switch {
	case r.Service.Kind() != wire.Group:
		return Key{Service: r.Service}
	case r.Node == wire.ID{}:
		return Key{Service: r.Service, At: r.At[0]}
	}
	return Key{Service: r.Service, Node: r.Node}
}

// Equal reports whether two records say the same.
func (r *Record) Equal(o *Record) bool {
	return r.Service == o.Service && r.Name == o.Name && r.Epoch == o.Epoch && r.Node == o.Node && slices.Equal(r.At, o.At)
}

// Title is how people know the service: its name, or its ID if it has none.
func (r *Record) Title() string {
	switch {
	case r.Name == "":
		return r.Service.String()
	case r.Service.Kind() == wire.Group:
		return fmt.Sprintf("group %q", r.Name)
	}
	return fmt.Sprintf("%q", r.Name)
}

// Process is how people tell the process that has the service from others.
func (r *Record) Process() string { return fmt.Sprintf("%x", r.Node[1:5]) }

func (r Record) String() string {
	return fmt.Sprintf("%s at %v, epoch %d, process %v", r.Title(), r.At, r.Epoch, r.Node)
}

// Append appends the record to b, as bytes that Decode takes. The record must pass Check.
func (r *Record) Append(b []byte) []byte {
	b = append(b, recordVersion)
	b = append(b, r.Service[:]...)
	b = append(b, r.Node[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Epoch)
	b = append(b, byte(len(r.At)))
	b = appendText(b, r.Name)
	for _, address := range r.At {
		b = appendText(b, address)
	}
	return b
}

func appendText(b []byte, text string) []byte { return append(append(b, byte(len(text))), text...) }

// Decode takes b apart, which must be one record and nothing else. A record without error passes Check; an error is an
// ErrRecord.
func Decode(b []byte) (Record, error) {
	c := cursor.New(b)
	if version := c.Uint8("version"); c.Err() == nil && version != recordVersion {
		c.Fail("version %d, this end knows %d", version, recordVersion)
	}
	var r Record
	copy(r.Service[:], c.Take("service", len(r.Service)))
	copy(r.Node[:], c.Take("node", len(r.Node)))
	r.Epoch = c.Uint64("epoch")
	addresses := int(c.Uint8("number of addresses"))
	r.Name = text(c, "name")
	for range min(addresses, MaxAddresses+1) {
		r.At = append(r.At, text(c, "address"))
	}
	if err := c.End(); err != nil {
		return Record{}, broken("%w", err)
	}
	if err := r.Check(); err != nil {
		return Record{}, err
	}
	return r, nil
}

func text(c *cursor.Cursor, what string) string { return string(c.Take(what, int(c.Uint8(what)))) }

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRecord}, args...)...)
}
