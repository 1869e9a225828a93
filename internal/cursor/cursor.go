// Package cursor takes apart what came from elsewhere, field by field. Numbers are big-endian. What is wrong is said once, with
// the name of the field; nothing is allocated for things that were only announced.
package cursor

import (
	"encoding/binary"
	"fmt"
)

// Cursor reads fields one after another. After the first that is wrong, it reads zeros and keeps the error.
type Cursor struct {
	rest []byte
	err  error
}

// New makes a cursor that stands at the beginning of b.
func New(b []byte) *Cursor { return &Cursor{rest: b} }

// Fail says what is wrong, unless something was before.
func (c *Cursor) Fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
		c.rest = nil
	}
}

// Err is what was wrong so far.
func (c *Cursor) Err() error { return c.err }

// End returns what was wrong, be it that something is left.
func (c *Cursor) End() error {
	if len(c.rest) > 0 {
		c.Fail("%d bytes too many", len(c.rest))
	}
	return c.err
}

// Take returns the next n bytes, or nil.
func (c *Cursor) Take(what string, n int) []byte {
	if c.err == nil && n > len(c.rest) {
		c.Fail("%s needs %d bytes, but %d are left", what, n, len(c.rest))
	}
	if c.err != nil {
		return nil
	}
	field := c.rest[:n:n]
	c.rest = c.rest[n:]
	return field
}

// Text reads a string with its length in two bytes.
func (c *Cursor) Text(what string) string { return string(c.Take(what, int(c.Uint16(what)))) }

// Rest takes all that is left.
func (c *Cursor) Rest() []byte { return c.Take("the rest", len(c.rest)) }

// Uint8 reads a number of one byte.
func (c *Cursor) Uint8(what string) uint8 {
	if field := c.Take(what, 1); field != nil {
		return field[0]
	}
	return 0
}

// Uint16 reads a number of two bytes.
func (c *Cursor) Uint16(what string) uint16 {
	if field := c.Take(what, 2); field != nil {
		return binary.BigEndian.Uint16(field)
	}
	return 0
}

// Uint32 reads a number of four bytes.
func (c *Cursor) Uint32(what string) uint32 {
	if field := c.Take(what, 4); field != nil {
		return binary.BigEndian.Uint32(field)
	}
	return 0
}

// Uint64 reads a number of eight bytes.
func (c *Cursor) Uint64(what string) uint64 {
	if field := c.Take(what, 8); field != nil {
		return binary.BigEndian.Uint64(field)
	}
	return 0
}

// Count reads how many things of at least size bytes follow, in four bytes. It refuses what cannot be there.
func (c *Cursor) Count(what string, limit, size int) int {
	n := int(c.Uint32("number of " + what))
	switch {
	case n > limit:
		c.Fail("%d %s, allowed are %d", n, what, limit)
		return 0
	case n > len(c.rest)/size:
		c.Fail("%d %s announced, but only %d bytes are left", n, what, len(c.rest))
		return 0
	}
	return n
}

// Uvarint reads a number of one to ten bytes, seven bits in each, the lowest first. It refuses numbers that have a shorter form.
func (c *Cursor) Uvarint(what string) uint64 {
	value, n := binary.Uvarint(c.rest)
	switch {
	case n == 0:
		c.Fail("%s is cut off", what)
		return 0
	case n < 0 || n > 1 && c.rest[n-1] == 0:
		c.Fail("%s is not a number in its shortest form", what)
		return 0
	}
	c.rest = c.rest[n:]
	return value
}

// Left is how many bytes have not been read.
func (c *Cursor) Left() int { return len(c.rest) }
