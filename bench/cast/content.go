package cast

import (
	"encoding/binary"
	"fmt"
)

// golden is the odd number whose multiples are spread most evenly over 64 bits.
const golden = 0x9e3779b97f4a7c15

// word64 is a word of a message's contents. It depends on where it stands, and on the message, so that a block in the
// wrong place is found out, and one of another run. From one word to the next, place grows by golden.
func word64(place uint64) uint64 { return place ^ place>>32 }

// mix makes the seeds of different runs differ in all bits, or words of one message would be found in the next.
func mix(seed, run uint64) uint64 {
	x := seed + (run+1)*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fill writes the contents of a message.
func fill(b []byte, seed uint64) {
	place := seed
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, word64(place))
		place += golden
	}
	last := binary.LittleEndian.AppendUint64(nil, word64(place))
	copy(b, last)
}

// check compares bytes with the contents of a message, and says where the first difference is.
func check(b []byte, seed uint64) error {
	place, rest := seed, b
	for ; len(rest) >= 8; rest = rest[8:] {
		if got, want := binary.LittleEndian.Uint64(rest), word64(place); got != want {
			return fmt.Errorf("the contents are wrong from byte %d on: there is %#016x, and it should be %#016x", len(b)-len(rest), got, want)
		}
		place += golden
	}
	last := binary.LittleEndian.AppendUint64(nil, word64(place))
	for i, got := range rest {
		if got != last[i] {
			return fmt.Errorf("the contents are wrong at byte %d", len(b)-len(rest)+i)
		}
	}
	return nil
}
