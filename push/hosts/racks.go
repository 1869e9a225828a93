package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// MaxRackName is how many bytes the name of a rack has at most.
const MaxRackName = 200

// ErrRacks: it is not clear in which racks hosts are.
var ErrRacks = errors.New("bad racks")

// Racks says in which rack each host is, as a number, and which names the racks have. Spec is a file, if there is one of that name, with
// lines as
//
//	rack1: node[01-16]      a rack and its hosts
//	node17 rack2            a host and its rack
//
// or otherwise a regular expression over the names of hosts, of which the first group is the rack's name, or else all that it matches.
// A host without a rack is an error.
func Racks(hosts []Host, spec string, read ReadFunc) (racks []int, names []string, err error) {
	of, err := rackFinder(spec, read)
	if err != nil {
		return nil, nil, err
	}
	numbers := map[string]int{}
	var without []string
	for _, h := range hosts {
		name := of(h)
		number, known := numbers[name]
		switch {
		case name == "":
			without = append(without, h.String())
		case len(name) > MaxRackName:
			return nil, nil, fmt.Errorf("%w: %s: the name of a rack has at most %d bytes", ErrRacks, h, MaxRackName)
		case !known:
			number = len(names)
			numbers[name], names = number, append(names, name)
		}
		racks = append(racks, number)
	}
	if len(without) > 0 {
		return nil, nil, fmt.Errorf("%w: %s gives no rack for %s", ErrRacks, kindOf(spec, read), Fold(without))
	}
	return racks, names, nil
}

// RackOf says in which rack a host is that need not be in a list, by its name or by what that has before the first dot; "": it is not said.
func RackOf(name, spec string, read ReadFunc) string {
	of, err := rackFinder(spec, read)
	if err != nil || name == "" {
		return ""
	}
	short, _, _ := strings.Cut(name, ".")
	rack := cmp.Or(of(Host{Name: name}), of(Host{Name: short}))
	if len(rack) > MaxRackName {
		return ""
	}
	return rack
}

// kindOf says as what racks were understood.
func kindOf(spec string, read ReadFunc) string {
	if _, err := read(spec); err == nil {
		return fmt.Sprintf("the file %q", spec)
	}
	return fmt.Sprintf("there is no file %q, and as a regular expression it", spec)
}

// rackFinder returns a function that tells a host's rack, or "".
func rackFinder(spec string, read ReadFunc) (func(Host) string, error) {
	text, err := read(spec)
	if err == nil {
		table, err := rackTable(spec, text)
		return table.of, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the racks: %w", err)
	}
	expression, err := regexp.Compile(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is neither a file nor a regular expression: %w", ErrRacks, spec, err)
	}
	return func(h Host) string {
		match := expression.FindStringSubmatch(h.Name)
		if match == nil {
			return ""
		}
		return match[min(1, len(match)-1)]
	}, nil
}

// racksOf is what a file says: the rack of a host, by its place.
type racksOf map[place]string

// of prefers what is said of the very agent to what is said of its host.
func (t racksOf) of(h Host) string {
	if rack, ok := t[h.place()]; ok {
		return rack
	}
	return t[place{h.place().name, 0}]
}

func rackTable(file string, text []byte) (racksOf, error) {
	table := racksOf{}
	for number, line := range lines(text) {
		if err := table.addLine(line); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, number, err)
		}
	}
	return table, nil
}

func (t racksOf) addLine(line string) error {
	fields := split(line)
	if len(fields) == 0 {
		return nil
	}
	rack, isRack := strings.CutSuffix(fields[0], ":")
	hosts := fields[1:]
	if !isRack {
		if len(fields) != 2 {
			return fmt.Errorf("%w: a line is \"rack: hosts\" or \"host rack\"", ErrRacks)
		}
		hosts, rack = fields[:1], fields[1]
	}
	var l list
	l.seen = map[place]bool{}
	for _, item := range hosts {
		if err := l.addItem(item); err != nil {
			return err
		}
	}
	return t.put(rack, l.hosts)
}

func (t racksOf) put(rack string, hosts []Host) error {
	for _, h := range hosts {
		if other, ok := t[h.place()]; ok && other != rack {
			return fmt.Errorf("%w: %s is in %s and in %s", ErrRacks, h, other, rack)
		}
		t[h.place()] = rack
	}
	return nil
}
