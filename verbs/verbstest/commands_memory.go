package verbstest

import (
	"encoding/binary"
	"hash/crc64"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/weft-fabric/weft/verbs"
)

// This file is the commands that look at memory, change it, or count what an end has done.

// Load reads N bytes from Offset. An aligned word is read with Load64. Result: Bytes, Word if N is 8, Region.
type Load struct {
	Memory int
	Offset int
	N      int
}

func (c Load) carryOut(a *agent) (Result, error) {
	m, err := a.memories.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	r := Result{Region: regionOf(m)}
	if c.N == 8 && c.Offset%8 == 0 {
		r.Word = m.Load64(c.Offset)
		r.Bytes = binary.NativeEndian.AppendUint64(nil, r.Word)
		return r, nil
	}
	r.Bytes = append(r.Bytes, m.Bytes()[c.Offset:c.Offset+c.N]...)
	return r, nil
}

// Store puts bytes at Offset.
type Store struct {
	Memory int
	Offset int
	Bytes  []byte
}

func (c Store) carryOut(a *agent) (Result, error) {
	m, err := a.memories.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	if len(c.Bytes) == 8 && c.Offset%8 == 0 {
		m.Store64(c.Offset, binary.NativeEndian.Uint64(c.Bytes))
		return Result{}, nil
	}
	copy(m.Bytes()[c.Offset:c.Offset+len(c.Bytes)], c.Bytes)
	return Result{}, nil
}

// Fill puts N bytes of a pattern at Offset. Equal seeds give equal bytes, and no two places of a pattern look alike, so
// that a piece that landed in the wrong place is noticed.
type Fill struct {
	Memory int
	Offset int
	N      int
	Seed   uint64
}

func (c Fill) carryOut(a *agent) (Result, error) {
	m, err := a.memories.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	fillPattern(m.Bytes()[c.Offset:c.Offset+c.N], c.Seed)
	return Result{}, nil
}

// fillPattern writes the bytes of a seeded generator (a Weyl sequence, mixed).
func fillPattern(b []byte, seed uint64) {
	state := seed*0x9e3779b97f4a7c15 + 1
	var word [8]byte
	for len(b) > 0 {
		state += 0x9e3779b97f4a7c15
		binary.LittleEndian.PutUint64(word[:], (state^state>>29)*0xbf58476d1ce4e5b9)
		b = b[copy(b, word[:]):]
	}
}

// Checksum is a hash of N bytes from Offset. Result: Word.
type Checksum struct {
	Memory int
	Offset int
	N      int
}

func (c Checksum) carryOut(a *agent) (Result, error) {
	m, err := a.memories.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	return Result{Word: checksum(m.Bytes()[c.Offset : c.Offset+c.N])}, nil
}

var crcTable = crc64.MakeTable(crc64.ECMA)

func checksum(b []byte) uint64 { return crc64.Checksum(b, crcTable) }

// CPUAdd adds one to a word with the CPU's own atomics, Times times.
type CPUAdd struct {
	Memory int
	Offset int
	Times  int
}

func (c CPUAdd) carryOut(a *agent) (Result, error) {
	m, err := a.memories.get(c.Memory)
	if err != nil {
		return Result{}, err
	}
	word := wordAt(m, c.Offset)
	for range c.Times {
		atomic.AddUint64(word, 1)
	}
	return Result{}, nil
}

// wordAt is an aligned word of a memory, for atomics that package verbs does not offer.
func wordAt(m *verbs.Memory, offset int) *uint64 {
	_ = m.Load64(offset) // panics if offset is not a word of m
	return (*uint64)(unsafe.Pointer(&m.Bytes()[offset]))
}

// Mallocs counts the allocations of the process that the end lives in. Result: Word.
type Mallocs struct {
	Unused bool // gob carries no struct without fields
}

func (c Mallocs) carryOut(*agent) (Result, error) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Result{Word: stats.Mallocs}, nil
}

// Turns asks how many turns the end's loop has made. Result: Word.
type Turns struct {
	Unused bool // gob carries no struct without fields
}

func (c Turns) carryOut(a *agent) (Result, error) { return Result{Word: a.turns}, nil }

// Now asks for the time in the clock of the end's device. Result: Now.
type Now struct {
	Unused bool // gob carries no struct without fields
}

func (c Now) carryOut(a *agent) (Result, error) { return Result{Now: a.device.Clock().Now()}, nil }
