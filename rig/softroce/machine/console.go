package machine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// console keeps what a machine's kernel says: warnings and worse.
type console struct {
	expected []string // parts of lines that are not kept
	said     []byte   // lines, the last ones
	line     []byte   // has begun
}

// maxConsole is how much is kept, in bytes.
const maxConsole = 16 << 10

// ready is what the guest says when it has booted. What the kernel said before is of interest only if that fails.
const ready = "guest: ready"

// harmless is what need not be read: that the machine had to wait for its host, and, at each look at the port of a link that
// is no card, that its speed is unknown.
var harmless = []string{"hrtimer: interrupt took", "speed is unknown, defaulting to"}

// runRead reads until the machine has ended.
func (c *console) runRead(from *os.File) {
	defer func() { _ = from.Close() }()
	_, _ = io.Copy(c, from) // a pipe's error is its end
}

func (c *console) Write(data []byte) (int, error) {
	c.line = append(c.line, data...)
	for {
		line, rest, whole := bytes.Cut(c.line, []byte("\n"))
		if !whole {
			c.line = c.line[max(0, len(c.line)-maxConsole):]
			return len(data), nil
		}
		c.hear(strings.TrimRight(string(line), "\r"))
		c.line = rest
	}
}

// hear takes one line, without its end.
func (c *console) hear(line string) {
	if line == ready {
		c.said = nil
		return
	}
	isIn := func(text string) bool { return strings.Contains(line, text) }
	if slices.ContainsFunc(harmless, isIn) || slices.ContainsFunc(c.expected, isIn) {
		return
	}
	c.said = append(append(c.said, line...), '\n')
	c.said = c.said[max(0, len(c.said)-maxConsole):]
}

// complaints is what the kernel said since the guest was ready, or all that it said if it never was.
func (c *console) complaints() string { return strings.TrimSpace(string(c.said) + string(c.line)) }

// hasPanicked reports whether the kernel has said so. The machine must have ended.
func (g *guest) hasPanicked() bool { return strings.Contains(g.console.complaints(), "Kernel panic") }

// complain shows what the kernels had to say.
func complain(to io.Writer, guests []*guest) {
	for _, g := range guests {
		if text := g.console.complaints(); text != "" {
			fmt.Fprintf(to, "softroce: the kernel of machine %d complained:\n%s\n", g.number, text)
		}
	}
}
