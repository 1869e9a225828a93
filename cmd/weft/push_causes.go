package main

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/push/hosts"
)

// causes gathers hosts for which the same is to be said.
type causes struct {
	order []string // in which they came
	of    map[string]*cause
}

// cause is what is to be said of some hosts.
type cause struct {
	name  string // what they have in common, if there is a word for it
	text  string // all that there is to say of the first
	alike bool   // and of every other
	hosts []string
}

// add notes what is to be said of a host. Those with the same cause are told together, and those that have none with the same text.
func (c *causes) add(host, name, text string) {
	if c.of == nil {
		c.of = map[string]*cause{}
	}
	key := name
	if key == "" {
		key = text
	}
	known := c.of[key]
	if known == nil {
		known = &cause{name: name, text: text, alike: true}
		c.of[key] = known
		c.order = append(c.order, key)
	}
	known.alike = known.alike && known.text == text
	known.hosts = append(known.hosts, host)
}

// lines says it once for all hosts that it is true of: node[40-42]: not enough space.
func (c *causes) lines() (lines []string) {
	for _, key := range c.order {
		lines = append(lines, shown(c.of[key].String()))
	}
	return lines
}

func (c *cause) String() string {
	if c.alike {
		return fmt.Sprintf("%s: %s", hosts.Fold(c.hosts), c.text)
	}
	detail := strings.TrimSpace(strings.TrimPrefix(c.text, c.name)) // it may begin with the same
	return fmt.Sprintf("%s: %s; at %s: %s", hosts.Fold(c.hosts), c.name, c.hosts[0], detail)
}
