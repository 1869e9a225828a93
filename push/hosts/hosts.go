// Package hosts reads lists of hosts as operators write them, and writes them as short as operators like to read them.
//
//	node[01-64]             ranges, with zeros in front if the first number has them
//	r[1-2]n[01-04,07]       lists of ranges, and several of them
//	user@host:7470          with a user and a port
//	[fe80::1]:7470          an IPv6 address; brackets are needed only before a port
//	host:[7470-7477]        several ports of one host, which a push refuses: an agent is known by the name of its host
//	^file                   a file with such lists, separated by commas, spaces or lines; # begins a comment
//	-                       the same from standard input
//
// A list in which a host comes twice has it once. Everything is a pure function: files are read by a function that the caller passes.
package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits.
const (
	MaxHosts = 100_000 // of a list
	MaxName  = 253     // bytes of a host's name
	MaxUser  = 64      // bytes
	maxPairs = 16      // of brackets in an item
)

// ErrList: a list of hosts cannot be understood.
var ErrList = errors.New("bad list of hosts")

// Host is one host of a list.
type Host struct {
	User string // empty: not said
	Name string // or address; that of IPv6 without brackets
	Port int    // 0: not said
}

// String is the host as it stands in a list.
func (h Host) String() string {
	text := h.Name
	if strings.Contains(text, ":") {
		text = "[" + text + "]"
	}
	if h.User != "" {
		text = h.User + "@" + text
	}
	if h.Port != 0 {
		text += ":" + strconv.Itoa(h.Port)
	}
	return text
}

// place is what a host must have in common with another to be the same: users do not tell hosts apart, nor do capital letters.
type place struct {
	name string
	port int
}

func (h Host) place() place { return place{strings.ToLower(h.Name), h.Port} }

// ReadFunc returns the text of a file, or of standard input if the name is "-".
type ReadFunc func(name string) ([]byte, error)

// Parse reads lists of hosts. The hosts come in the order in which they are first named. The error is ErrList, or what read says.
func Parse(specs []string, read ReadFunc) ([]Host, error) {
	l := list{seen: map[place]bool{}}
	for _, spec := range specs {
		if err := l.addSpec(spec, read); err != nil {
			return nil, err
		}
	}
	return l.hosts, nil
}

// list is a list under construction.
type list struct {
	hosts []Host
	seen  map[place]bool
}

func (l *list) addSpec(spec string, read ReadFunc) error {
	for _, item := range split(spec) {
		name, isFile := strings.CutPrefix(item, "^")
		add := l.addItem
		if isFile || item == "-" {
			add = func(string) error { return l.addFile(name, read) }
		}
		if err := add(item); err != nil {
			return err
		}
	}
	return nil
}

func (l *list) addFile(name string, read ReadFunc) error {
	text, err := read(name)
	if err != nil {
		return fmt.Errorf("read the list of hosts: %w", err)
	}
	for number, line := range lines(text) {
		for _, item := range split(line) {
			if err := l.addItem(item); err != nil {
				return fmt.Errorf("%s, line %d: %w", fileName(name), number, err)
			}
		}
	}
	return nil
}

func fileName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// addItem adds what stands between two commas.
func (l *list) addItem(item string) error {
	if strings.Count(item, "[") > maxPairs {
		return fmt.Errorf("%w: %q: more than %d pairs of brackets", ErrList, item, maxPairs)
	}
	texts, err := expand(item, MaxHosts-len(l.hosts))
	if err != nil {
		return err
	}
	for _, text := range texts {
		host, err := parseHost(text)
		if err != nil {
			return err
		}
		if !l.seen[host.place()] {
			l.seen[host.place()] = true
			l.hosts = append(l.hosts, host)
		}
	}
	return nil
}

// Exclude returns the hosts that other lists do not name. Where such a list gives a port, only an agent at that port is meant; whose port is not
// said has the usual one.
func Exclude(hosts []Host, usual int, specs []string, read ReadFunc) ([]Host, error) {
	out, err := Parse(specs, read)
	if err != nil {
		return nil, err
	}
	excluded := map[place]bool{}
	for _, h := range out {
		excluded[h.place()] = true
	}
	var left []Host
	for _, h := range hosts {
		name := h.place().name
		if !excluded[place{name, cmp.Or(h.Port, usual)}] && !excluded[place{name, 0}] {
			left = append(left, h)
		}
	}
	return left, nil
}
