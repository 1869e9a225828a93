package machine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// console keeps what a machine's kernel says: warnings and worse.
type console struct{ said []byte }

// maxConsole is how much of it is kept, in bytes: the end.
const maxConsole = 16 << 10

// runRead reads until the machine has ended.
func (c *console) runRead(from *os.File) {
	defer func() { _ = from.Close() }()
	_, _ = io.Copy(c, from) // a pipe's error is its end
}

func (c *console) Write(data []byte) (int, error) {
	c.said = append(c.said, data...)
	if over := len(c.said) - maxConsole; over > 0 {
		c.said = bytes.Clone(c.said[over:])
	}
	return len(data), nil
}

// complaints is what the kernel said since the guest was ready, or all that it said if it never was.
func (c *console) complaints() string {
	text := strings.ReplaceAll(string(c.said), "\r", "")
	if _, since, found := strings.Cut(text, "guest: ready\n"); found {
		text = since
	}
	var worth strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, harmless) {
			worth.WriteString(line)
		}
	}
	return strings.TrimSpace(worth.String())
}

// harmless is what a kernel says of a machine that had to wait for its host.
const harmless = "hrtimer: interrupt took"

// complain shows what the kernels had to say.
func complain(to io.Writer, guests []*guest) {
	for _, g := range guests {
		if text := g.console.complaints(); text != "" {
			fmt.Fprintf(to, "softroce: the kernel of machine %d complained:\n%s\n", g.number, text)
		}
	}
}
