// Package printable is for words that go to other processes, or come from there, and end up on somebody's terminal.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check refuses what is too long, and what could play tricks on a terminal. Limit is in bytes.
func Check(what, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%s has %d bytes, allowed are %d", what, len(text), limit)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable) {
		return fmt.Errorf("%s %q is not printable text", what, text)
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Clean makes of text what Check does not refuse: it replaces what cannot be printed, and cuts it to at most limit bytes, between two
// runes.
func Clean(text string, limit int) string {
	return cut(strings.Map(func(r rune) rune {
		if unprintable(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(cut(text, limit), "?")), limit)
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Capital is text as a title: it begins with a capital letter.
func Capital(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}

// Wrap cuts text into lines of at most so many runes, between words where it can.
func Wrap(text string, columns int) (lines []string) {
	line := []rune{}
	for _, word := range strings.Fields(text) {
		next := []rune(word)
		if len(line) > 0 && len(line)+1+len(next) > columns {
			lines, line = append(lines, string(line)), nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		for line = append(line, next...); len(line) > columns; line = line[columns:] {
			lines = append(lines, string(line[:columns]))
		}
	}
	if len(line) > 0 {
		lines = append(lines, string(line))
	}
	return lines
}
