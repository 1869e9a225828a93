package main

import (
	"fmt"

	"github.com/weft-fabric/weft/push/hosts"
)

// causes gathers hosts for which the same is to be said.
type causes struct {
	texts []string // in the order in which they came
	hosts map[string][]string
}

func (c *causes) add(host, text string) {
	if c.hosts == nil {
		c.hosts = map[string][]string{}
	}
	if _, known := c.hosts[text]; !known {
		c.texts = append(c.texts, text)
	}
	c.hosts[text] = append(c.hosts[text], host)
}

// lines says it once for all hosts that it is true of: node[40-42]: disk full.
func (c *causes) lines() (lines []string) {
	for _, text := range c.texts {
		lines = append(lines, shown(fmt.Sprintf("%s: %s", hosts.Fold(c.hosts[text]), text)))
	}
	return lines
}
