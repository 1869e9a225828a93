package connect

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText bounds names in a greeting, and the Step of a card, in bytes.
const maxText = 128

// cursor reads fields one after another. After the first that is wrong, it reads zeros and keeps the error.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// take returns the next n bytes, or nil.
func (c *cursor) take(what string, n int) []byte {
	if c.err == nil && n > len(c.rest) {
		c.fail("%s needs %d bytes, but %d are left", what, n, len(c.rest))
	}
	if c.err != nil {
		return nil
	}
	field := c.rest[:n:n]
	c.rest = c.rest[n:]
	return field
}

func (c *cursor) uint8(what string) uint8 {
	if field := c.take(what, 1); field != nil {
		return field[0]
	}
	return 0
}

func (c *cursor) uint16(what string) uint16 {
	if field := c.take(what, 2); field != nil {
		return binary.BigEndian.Uint16(field)
	}
	return 0
}

func (c *cursor) uint32(what string) uint32 {
	if field := c.take(what, 4); field != nil {
		return binary.BigEndian.Uint32(field)
	}
	return 0
}

func (c *cursor) uint64(what string) uint64 {
	if field := c.take(what, 8); field != nil {
		return binary.BigEndian.Uint64(field)
	}
	return 0
}

// text reads a string with its length in two bytes.
func (c *cursor) text(what string) string { return string(c.take(what, int(c.uint16(what)))) }

// count reads how many things of at least size bytes follow. It refuses what cannot be there, so that nothing is
// allocated for things that were only announced.
func (c *cursor) count(what string, limit, size int) int {
	n := int(c.uint32("number of " + what))
	switch {
	case c.err != nil:
		return 0
	case n > limit:
		c.fail("%d %s, allowed are %d", n, what, limit)
		return 0
	case n > len(c.rest)/size:
		c.fail("%d %s announced, but only %d bytes are left", n, what, len(c.rest))
		return 0
	}
	return n
}

// end returns what was wrong, be it that something is left.
func (c *cursor) end() error {
	if len(c.rest) > 0 {
		c.fail("%d bytes too many", len(c.rest))
	}
	return c.err
}

func appendText(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(text))), text...)
}

// checkText refuses what is too long, and what could play tricks on a terminal.
func checkText(what, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%s has %d bytes, allowed are %d", what, len(text), limit)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable) {
		return fmt.Errorf("%s %q is not printable text", what, text)
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// printable replaces what checkText would refuse.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// cut shortens text to at most limit bytes, between two runes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
