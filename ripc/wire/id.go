package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// ID names a service, wherever it runs. Its first byte is its Kind.
type ID [16]byte

// Kind is what an ID stands for.
type Kind uint8

// The kinds of an ID.
const (
	Nobody Kind = iota // the zero ID
	Named              // a service with a name: one at a time
	Random             // a service without a name, that was drawn
	Group              // a name that any number of services have joined: a message goes to all
)

var kindNames = [...]string{"nobody", "named", "random", "group"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MaxName is how long a name may be.
const MaxName = 255

// ErrName is a name that cannot be one.
var ErrName = fmt.Errorf("not a service name: a name has 1 to %d bytes of printable text", MaxName)

// NameID is the ID of the service with a name.
func NameID(name string) ID { return hashed(Named, []byte(name)) }

// GroupID is the ID of all services that have joined a group.
func GroupID(name string) ID { return hashed(Group, []byte(name)) }

// RandomID is the ID that 15 random bytes make.
func RandomID(random [15]byte) ID {
	id := ID{byte(Random)}
	copy(id[1:], random[:])
	return id
}

// hashed leaves 120 bits of the hash: two names of a cluster of a million meet with a chance of 10⁻²⁴, and nobody can make
// two that do with less than 2⁶⁰ tries. A registration names its service in full, so that even then it would be noticed.
func hashed(kind Kind, name []byte) ID {
	sum := sha256.Sum256(name)
	id := ID{byte(kind)}
	copy(id[1:], sum[:])
	return id
}

// Kind is what the ID stands for.
func (id ID) Kind() Kind { return Kind(id[0]) }

// Valid reports whether the ID is of a known kind.
func (id ID) Valid() bool {
	return id[0] < byte(len(kindNames)) && (id[0] != byte(Nobody) || id == ID{})
}

// isOne reports whether the ID is that of one service.
func (id *ID) isOne() bool { return id[0] == byte(Named) || id[0] == byte(Random) }

func (id ID) String() string {
	if id == (ID{}) {
		return "nobody"
	}
	return fmt.Sprintf("%v %s", id.Kind(), hex.EncodeToString(id[1:7]))
}
