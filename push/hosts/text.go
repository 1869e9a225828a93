package hosts

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
)

// lines goes through the lines of a file, numbered from 1, without comments.
func lines(text []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if !yield(number, uncommented(line)) {
				return
			}
		}
	}
}

// uncommented cuts off a comment: from a # that begins the line or a word of it.
func uncommented(line string) string {
	for i, r := range line {
		if r == '#' && (i == 0 || unicode.IsSpace(rune(line[i-1]))) {
			return line[:i]
		}
	}
	return line
}

// split cuts a list at commas and spaces that are not in brackets.
func split(spec string) []string {
	depth := 0
	return strings.FieldsFunc(spec, func(r rune) bool {
		switch r {
		case '[':
			depth++
		case ']':
			depth = max(depth-1, 0)
		}
		return depth == 0 && (r == ',' || unicode.IsSpace(r))
	})
}

// parseHost reads a host without ranges.
func parseHost(text string) (h Host, err error) {
	bad := func(what string) (Host, error) { return Host{}, fmt.Errorf("%w: %q: %s", ErrList, text, what) }
	rest := text
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if h.User, rest = rest[:at], rest[at+1:]; !isName(h.User, MaxUser) {
			return bad("the user must be letters, digits, and . _ - inside")
		}
	}
	name, port, hasPort := cutPort(rest)
	if h.Name = name; strings.Contains(name, ":") && !isAddress(name) || !strings.Contains(name, ":") && !isName(name, MaxName) {
		return bad("a host is a name of letters, digits, and . _ - inside, or an address; to leave hosts out, use -x")
	}
	if hasPort {
		if h.Port, err = strconv.Atoi(port); err != nil || h.Port < 1 || h.Port > 65535 || strconv.Itoa(h.Port) != port {
			return bad("the port must be a number from 1 to 65535")
		}
	}
	return h, nil
}

// cutPort cuts host:port. An address of IPv6 without brackets has no port.
func cutPort(text string) (name, port string, has bool) {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		if name, rest, closed := strings.Cut(inside, "]"); closed && strings.Contains(name, ":") {
			port, has := strings.CutPrefix(rest, ":")
			if has || rest == "" {
				return name, port, has
			}
		}
		return "", "", false
	}
	if strings.Count(text, ":") > 1 {
		return text, "", false
	}
	return strings.Cut(text, ":")
}

// isName accepts what can be a host's or a user's name, and nothing that another program could take for an option or a path.
func isName(text string, limit int) bool {
	if text == "" || len(text) > limit || strings.ContainsRune("-.", rune(text[0])) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return !isLetter(r) && !isDigit(r) && !strings.ContainsRune("._-", r) })
}

// isAddress accepts what looks like an address of IPv6, with a zone perhaps.
func isAddress(text string) bool {
	address, zone, zoned := strings.Cut(text, "%")
	if zoned && !isName(zone, MaxUser) || len(address) > len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255") {
		return false
	}
	return strings.Count(address, ":") >= 2 && strings.Trim(address, "0123456789abcdefABCDEF:.") == ""
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
