package pingpong

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// line is what an end says about its queue pair.
type line struct {
	lid  uint16
	pair uint32 // its number, 24 bits
	psn  uint32 // number of its first packet, 24 bits
	gid  [16]byte
}

// shape is a line with every digit 0. The NUL behind it is sent too.
const shape = "0000:000000:000000:00000000000000000000000000000000\x00"

// done is the client's last word.
const done = "done\x00"

// ErrExchange is what a peer that speaks something else ends the exchange with.
var ErrExchange = errors.New("the peer does not speak as ibv_rc_pingpong does")

func (l line) encode() []byte {
	return fmt.Appendf(nil, "%04x:%06x:%06x:%x\x00", l.lid, l.pair, l.psn, l.gid[:])
}

// parseLine reads a line, which came from a stranger.
func parseLine(text []byte) (l line, err error) {
	bare, ended := bytes.CutSuffix(text, []byte{0})
	fields := bytes.Split(bare, []byte(":"))
	if len(text) != len(shape) || !ended || len(fields) != 4 {
		return line{}, fmt.Errorf("%w: it says %q", ErrExchange, text)
	}
	lid, wrongLID := parseHex(fields[0], 4)
	pair, wrongPair := parseHex(fields[1], 6)
	psn, wrongPSN := parseHex(fields[2], 6)
	n, wrongGID := hex.Decode(l.gid[:], fields[3][:min(len(fields[3]), 2*len(l.gid))])
	if err := errors.Join(wrongLID, wrongPair, wrongPSN, wrongGID); err != nil || n != len(l.gid) || len(fields[3]) != 2*n {
		return line{}, fmt.Errorf("%w: it says %q", ErrExchange, text)
	}
	l.lid, l.pair, l.psn = uint16(lid), pair, psn
	return l, nil
}

func parseHex(digits []byte, n int) (uint32, error) {
	if len(digits) != n {
		return 0, strconv.ErrSyntax
	}
	value, err := strconv.ParseUint(string(digits), 16, 4*n)
	return uint32(value), err
}
