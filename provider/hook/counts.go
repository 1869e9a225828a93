package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Counts is what passed a wrapped device. Requests are counted when the device takes them; messages that arrive, and
// calls such as Connect, when they complete.
type Counts struct {
	Operations       ByOp     `json:"operations"`
	Bytes            ByOp     `json:"bytes"`
	Requests         uint64   `json:"requests"`  // sum of the operations that were posted
	Doorbells        uint64   `json:"doorbells"` // calls of Post
	Receives         uint64   `json:"receives"`
	ReceiveDoorbells uint64   `json:"receive_doorbells"` // calls of PostReceive
	Polls            uint64   `json:"polls"`
	EmptyPolls       uint64   `json:"empty_polls"` // those that found nothing
	Completions      ByStatus `json:"completions"`
	Waits            uint64   `json:"waits"`
	Wakes            uint64   `json:"wakes"`
	Locks            uint64   `json:"locks"` // zero if the device does not count them
}

// ByOp is a number for each operation. Its JSON names the operations and leaves out zeros.
type ByOp [opCount]uint64

// ByStatus is a number for each status. Its JSON names the statuses and leaves out zeros.
type ByStatus [statusCount]uint64

// MarshalJSON writes an object of names and numbers.
func (b ByOp) MarshalJSON() ([]byte, error) { return marshalNamed(b[:], opName) }

// MarshalJSON writes an object of names and numbers.
func (b ByStatus) MarshalJSON() ([]byte, error) { return marshalNamed(b[:], statusName) }

// Of returns the number for one operation.
func (b *ByOp) Of(op driver.Op) uint64 { return b[opIndex(op)] }

// Of returns the number for one status.
func (b *ByStatus) Of(status driver.Status) uint64 { return b[statusIndex(status)] }

// Sub returns what was counted after an earlier snapshot.
func (c Counts) Sub(earlier Counts) Counts {
	for i := range c.Operations {
		c.Operations[i] -= earlier.Operations[i]
		c.Bytes[i] -= earlier.Bytes[i]
	}
	for i := range c.Completions {
		c.Completions[i] -= earlier.Completions[i]
	}
	c.Requests -= earlier.Requests
	c.Doorbells -= earlier.Doorbells
	c.Receives -= earlier.Receives
	c.ReceiveDoorbells -= earlier.ReceiveDoorbells
	c.Polls -= earlier.Polls
	c.EmptyPolls -= earlier.EmptyPolls
	c.Waits -= earlier.Waits
	c.Wakes -= earlier.Wakes
	c.Locks -= earlier.Locks
	return c
}

// String is a table for people. Rows of zeros are left out.
func (c Counts) String() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "operation\tcount\tbytes\t")
	for i, n := range c.Operations {
		if n > 0 {
			fmt.Fprintf(table, "%s\t%d\t%d\t\n", opName(i), n, c.Bytes[i])
		}
	}
	fmt.Fprintln(table, "completion\tcount\t\t")
	for i, n := range c.Completions {
		if n > 0 {
			fmt.Fprintf(table, "%s\t%d\t\t\n", statusName(i), n)
		}
	}
	for _, row := range c.pairs() {
		if row.calls > 0 || row.of > 0 {
			fmt.Fprintf(table, "%s\t%d\t%s\t\n", row.name, row.calls, row.note())
		}
	}
	table.Flush() // into memory: cannot fail
	return text.String()
}

// pair is a row of the table: a number of calls, and a number that belongs with it.
type pair struct {
	name  string
	calls uint64
	of    uint64
	what  string // what of counts; empty: nothing
}

// pairs are the rows of the table that are neither by operation nor by status.
func (c *Counts) pairs() []pair {
	return []pair{
		{"doorbells", c.Doorbells, c.Requests, "requests"},
		{"receive doorbells", c.ReceiveDoorbells, c.Receives, "receives"},
		{"polls", c.Polls, c.EmptyPolls, "empty"},
		{"waits", c.Waits, c.Wakes, "wakes"},
		{"locks", c.Locks, 0, ""},
	}
}

// note is the text of the second number.
func (p *pair) note() string {
	if p.what == "" {
		return ""
	}
	return fmt.Sprintf("%d %s", p.of, p.what)
}

// countsOf gives the cells of a shard their names.
func countsOf(cells *[cellCount]uint64) Counts {
	c := Counts{
		Operations:       ByOp(cells[cellOperations:]),
		Bytes:            ByOp(cells[cellBytes:]),
		Completions:      ByStatus(cells[cellCompletions:]),
		Doorbells:        cells[cellDoorbells],
		Receives:         cells[cellReceives],
		ReceiveDoorbells: cells[cellReceiveDoorbells],
		Polls:            cells[cellBusyPolls] + cells[cellEmptyPolls],
		EmptyPolls:       cells[cellEmptyPolls],
		Waits:            cells[cellWaits],
		Wakes:            cells[cellWakes],
	}
	for i, n := range c.Operations {
		if driver.Op(i).IsRequest() {
			c.Requests += n
		}
	}
	return c
}

// marshalNamed writes the numbers other than zero in their order, which a map would lose.
func marshalNamed(numbers []uint64, name func(int) string) ([]byte, error) {
	var text bytes.Buffer
	separator := byte('{')
	for i, n := range numbers {
		if n == 0 {
			continue
		}
		key, err := json.Marshal(name(i))
		if err != nil {
			return nil, err
		}
		text.WriteByte(separator)
		fmt.Fprintf(&text, "%s:%d", key, n)
		separator = ','
	}
	if separator == '{' {
		text.WriteByte('{')
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}
