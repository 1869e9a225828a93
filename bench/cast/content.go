package cast

import (
	"encoding/binary"
	"fmt"
)

// word64 is a word of a message's contents. It depends on where it stands, and on the message, so that a block in the
// wrong place is found out, and one of another run.
func word64(seed, index uint64) uint64 {
	x := (index + seed) * 0x9e3779b97f4a7c15
	return x ^ x>>32
}

// mix makes the seeds of different runs differ in all bits, or words of one message would be found in the next.
func mix(seed, run uint64) uint64 {
	x := seed + (run+1)*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fill writes the contents of a message.
func fill(b []byte, seed uint64) {
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], word64(seed, uint64(i)>>3))
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], word64(seed, uint64(whole)>>3))
	copy(b[whole:], last[:])
}

// check compares bytes with the contents of a message, and says where the first difference is.
func check(b []byte, seed uint64) error {
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		if got := binary.LittleEndian.Uint64(b[i:]); got != word64(seed, uint64(i)>>3) {
			return fmt.Errorf("the contents are wrong from byte %d on: there is %#016x, and it should be %#016x", i, got, word64(seed, uint64(i)>>3))
		}
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], word64(seed, uint64(whole)>>3))
	for i, got := range b[whole:] {
		if got != last[i] {
			return fmt.Errorf("the contents are wrong at byte %d", whole+i)
		}
	}
	return nil
}
