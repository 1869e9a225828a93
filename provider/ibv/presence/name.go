package presence

import (
	"crypto/rand"
	"encoding/binary"
)

// Name is one incarnation of a queue pair: random, never 0, and part of the queue pair's address. Who does not know it
// cannot ask for it.
type Name uint64

// NewName returns a name that nobody can guess.
func NewName() Name {
	var b [8]byte
	for {
		_, _ = rand.Read(b[:]) // never fails: it ends the process instead
		if n := Name(binary.LittleEndian.Uint64(b[:])); n != 0 {
			return n
		}
	}
}
