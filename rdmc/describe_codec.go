package rdmc

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

func (d *description) encode() []byte {
	const enough = 16 // bytes for a member, mostly
	b := make([]byte, 0, enough*(len(d.members)+8))
	b = binary.LittleEndian.AppendUint32(b, headerMagic)
	b = binary.LittleEndian.AppendUint32(b, d.version)
	b = appendString(b, d.name)
	b = binary.AppendUvarint(b, uint64(len(d.members)))
	for _, name := range d.members {
		b = appendString(b, name)
	}
	b = append(b, byte(d.algorithm), offloadByte(d.offload))
	b = binary.AppendUvarint(b, uint64(len(d.racks)))
	for _, rack := range d.racks {
		b = binary.AppendVarint(b, int64(rack))
	}
	for _, n := range []int{d.stripes, d.blockSize, d.credits} {
		b = binary.AppendVarint(b, int64(n))
	}
	return binary.LittleEndian.AppendUint64(b, d.unfinished)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func offloadByte(offload bool) byte {
	if offload {
		return 1
	}
	return 0
}

// reader takes a description apart. Once it has failed it reads nothing but zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return make([]byte, min(max(n, 0), 8))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) varint() int {
	n, used := binary.Varint(r.rest)
	if used <= 0 {
		r.bad = true
		return 0
	}
	r.take(used)
	return int(n)
}

// count reads how many things follow, each of at least a byte.
func (r *reader) count() int {
	n, used := binary.Uvarint(r.rest)
	if used <= 0 || n > uint64(len(r.rest)) {
		r.bad = true
		return 0
	}
	r.take(used)
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	if r.bad {
		return ""
	}
	return string(r.take(n))
}

// parseDescription is the reverse of encode. Of another version it reads only which.
func parseDescription(b []byte) (d description, err error) {
	r := reader{rest: b}
	if magic := binary.LittleEndian.Uint32(r.take(4)); magic != headerMagic {
		return d, fmt.Errorf("no description of a group")
	}
	if d.version = binary.LittleEndian.Uint32(r.take(4)); d.version != Version {
		return d, nil
	}
	d.name = r.text()
	for range r.count() {
		d.members = append(d.members, r.text())
	}
	kind := r.take(2)
	d.algorithm, d.offload = schedule.Algorithm(kind[0]), kind[1] != 0
	for range r.count() {
		d.racks = append(d.racks, r.varint())
	}
	d.stripes, d.blockSize, d.credits = r.varint(), r.varint(), r.varint()
	d.unfinished = binary.LittleEndian.Uint64(r.take(8))
	if r.bad || len(r.rest) > 0 {
		return d, fmt.Errorf("a description of a group that is cut off or too long")
	}
	return d, nil
}
