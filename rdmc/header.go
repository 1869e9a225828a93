package rdmc

import (
	"encoding/binary"
	"fmt"
)

// A header tells a member of a new message. It travels in front of the first block that the member gets, or alone if the
// schedule is announced: 32 bits of immediate cannot hold it.
//
//	0 magic · 4 version · 8 block size · 12 first block · 16 message number · 24 size       little endian
const headerSize = 32

const headerMagic = 0x63_6d_64_72 // "rdmc"

// headerAlone is the immediate, and the first block, of a header without a block.
const headerAlone = 1<<32 - 1

type header struct {
	blockSize uint32
	first     uint32 // the block behind it, or headerAlone
	number    uint64
	size      uint64
}

func (h *header) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b, headerMagic)
	le.PutUint32(b[4:], Version)
	le.PutUint32(b[8:], h.blockSize)
	le.PutUint32(b[12:], h.first)
	le.PutUint64(b[16:], h.number)
	le.PutUint64(b[24:], h.size)
}

func parseHeader(b []byte) (header, error) {
	le := binary.LittleEndian
	if len(b) < headerSize || le.Uint32(b) != headerMagic {
		return header{}, fmt.Errorf("no header where one must be")
	}
	if version := le.Uint32(b[4:]); version != Version {
		return header{}, fmt.Errorf("version %d, we have %d", version, Version)
	}
	return header{blockSize: le.Uint32(b[8:]), first: le.Uint32(b[12:]), number: le.Uint64(b[16:]), size: le.Uint64(b[24:])}, nil
}

// check compares a header with what is expected of the next message.
func (h *header) check(c *Config, number uint64, imm uint32) error {
	switch {
	case h.blockSize != uint32(c.BlockSize):
		return fmt.Errorf("block size %d, we have %d", h.blockSize, c.BlockSize)
	case h.number != number:
		return fmt.Errorf("message %d where message %d is next", h.number, number)
	case h.first != imm:
		return fmt.Errorf("a header for block %d in front of block %d", h.first, imm)
	}
	return c.checkSize(h.size)
}
