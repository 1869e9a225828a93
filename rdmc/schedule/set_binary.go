package schedule

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// A set travels as
//
//	kind     1 byte   runs or bitmap
//	blocks   uvarint  Len
//	runs:    uvarint  each: the lengths of runs, in turn of blocks that are not in the set and blocks that are, up to Len;
//	                  only the first may be zero
//	bitmap:  Len bits, least significant first, filled up with zeros to bytes
//
// whichever is shorter, and the runs if neither is. A set has one encoding, so equal sets have equal bytes.
const (
	kindRuns = iota
	kindBitmap
)

var (
	errSetCut    = errors.New("set of blocks: the encoding is cut off")
	errSetLong   = errors.New("set of blocks: more bytes or blocks than the set has")
	errSetUnique = errors.New("set of blocks: not the one encoding that the set has")
)

// AppendBinary appends the encoding of the set, of at most Len/8 + 11 bytes and a few when the set is a few runs. It does not
// fail; the error belongs to encoding.BinaryAppender.
func (s Set) AppendBinary(to []byte) ([]byte, error) {
	start := len(to)
	to = binary.AppendUvarint(append(to, kindRuns), uint64(s.blocks))
	head := len(to)
	for at, has := 0, false; at < s.blocks; has = !has {
		end := at
		if s.Has(at) == has {
			end = s.runEnd(at)
		}
		to = binary.AppendUvarint(to, uint64(end-at))
		if at = end; len(to)-head > bitmapLen(s.blocks) {
			to[start] = kindBitmap
			return s.appendBitmap(to[:head]), nil
		}
	}
	return to, nil
}

func (s Set) appendBitmap(to []byte) []byte {
	end := len(to) + bitmapLen(s.blocks)
	for _, word := range s.words {
		to = binary.LittleEndian.AppendUint64(to, word)
	}
	return to[:end]
}

func bitmapLen(blocks int) int { return (blocks + 7) / 8 }

// ParseSet decodes a set of at most maxBlocks blocks, which takes all of data. What comes from elsewhere may be anything: it
// gets an error, and nothing is allocated before all runs have been checked, nor more than maxBlocks bits, twice.
func ParseSet(data []byte, maxBlocks int) (Set, error) {
	if len(data) == 0 {
		return Set{}, errSetCut
	}
	blocks, n := binary.Uvarint(data[1:])
	if n <= 0 {
		return Set{}, errSetCut
	}
	if blocks > uint64(max(maxBlocks, 0)) {
		return Set{}, fmt.Errorf("set of blocks: for %d blocks, where at most %d are expected", blocks, maxBlocks)
	}
	s, err := parseBody(data[0], data[1+n:], int(blocks))
	if err != nil {
		return Set{}, err
	}
	if again, _ := s.AppendBinary(nil); !bytes.Equal(again, data) {
		return Set{}, errSetUnique
	}
	return s, nil
}

func parseBody(kind byte, body []byte, blocks int) (Set, error) {
	switch kind {
	case kindRuns:
		if err := eachRun(body, blocks, func(int, int) {}); err != nil {
			return Set{}, err
		}
		s := NewSet(blocks)
		return s, eachRun(body, blocks, s.addRun)
	case kindBitmap:
		return parseBitmap(body, blocks)
	default:
		return Set{}, fmt.Errorf("set of blocks: no kind %d: the sender has another version", kind)
	}
}

// eachRun calls present for each run of blocks that are in the set.
func eachRun(body []byte, blocks int, present func(from, to int)) error {
	at := 0
	for has := false; at < blocks; has = !has {
		length, n := binary.Uvarint(body)
		if n <= 0 {
			return errSetCut
		}
		if length > uint64(blocks-at) {
			return errSetLong
		}
		if has {
			present(at, at+int(length))
		}
		at, body = at+int(length), body[n:]
	}
	if len(body) > 0 {
		return errSetLong
	}
	return nil
}

func parseBitmap(body []byte, blocks int) (Set, error) {
	if len(body) < bitmapLen(blocks) {
		return Set{}, errSetCut
	}
	if len(body) > bitmapLen(blocks) || blocks%8 != 0 && body[len(body)-1]>>(blocks%8) != 0 {
		return Set{}, errSetLong
	}
	s := NewSet(blocks)
	for i, b := range body {
		s.words[i/8] |= uint64(b) << (i % 8 * 8)
	}
	return s, nil
}
