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

// Racking tells in which racks hosts are.
type Racking struct {
	rack func(Host) string // "": it is not said
	kind string            // as what it was understood, for people
}

// ReadRacks reads which racks there are. Spec is a file, if there is one of that name, with lines as
//
//	rack1: node[01-16]      a rack and its hosts
//	node17 rack2            a host and its rack
//
// or otherwise a regular expression over the names of hosts, of which the first group is the rack's name, or else all that it matches. It is
// read once: standard input and pipes have no more to say to whoever asks again.
func ReadRacks(spec string, read ReadFunc) (*Racking, error) {
	text, err := read(spec)
	if errors.Is(err, fs.ErrNotExist) {
		return racksBy(spec)
	}
	if err != nil {
		return nil, fmt.Errorf("read the racks: %w", err)
	}
	kind := fmt.Sprintf("the file %q", spec)
	if spec == "-" {
		kind = fileName(spec)
	}
	table, err := rackTable(fileName(spec), text)
	return &Racking{table.of, kind}, err
}

// racksBy tells racks by a regular expression.
func racksBy(spec string) (*Racking, error) {
	expression, err := regexp.Compile(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is neither a file nor a regular expression: %w", ErrRacks, spec, err)
	}
	rack := func(h Host) string {
		match := expression.FindStringSubmatch(h.Name)
		if match == nil {
			return ""
		}
		return match[min(1, len(match)-1)]
	}
	return &Racking{rack, fmt.Sprintf("there is no file %q, and as a regular expression it", spec)}, nil
}

// Of says in which rack each host is, as a number, and which names the racks have. A host without a rack is an error.
func (r *Racking) Of(hosts []Host) (racks []int, names []string, err error) {
	numbers := map[string]int{}
	var without []string
	for _, h := range hosts {
		name := r.rack(h)
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
		return nil, nil, fmt.Errorf("%w: %s gives no rack for %s", ErrRacks, r.kind, Fold(without))
	}
	return racks, names, nil
}

// OfName says in which rack a host is that need not be in a list, by its name or by what that has before the first dot; "": it is not said.
func (r *Racking) OfName(name string) string {
	if name == "" {
		return ""
	}
	short, _, _ := strings.Cut(name, ".")
	rack := cmp.Or(r.rack(Host{Name: name}), r.rack(Host{Name: short}))
	if len(rack) > MaxRackName {
		return ""
	}
	return rack
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
