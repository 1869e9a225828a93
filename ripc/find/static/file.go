package static

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Limits of a file.
const (
	maxFile = 1 << 20
	maxLine = 1 + wire.MaxName + 4*find.MaxAddresses*(1+find.MaxAddress) // with room for a comment
)

// Load makes a resolver of a file.
func Load(path string) (*Resolver, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("table of services: %w", err)
	}
	defer func() { _ = file.Close() }()
	return Read(path, file)
}

// Read makes a resolver of lines of a table. Name is what errors call the file.
func Read(name string, from io.Reader) (*Resolver, error) {
	table, _ := New(nil)
	seen := map[string]int{}
	read := &io.LimitedReader{R: from, N: maxFile + 1}
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, maxLine)
	n := 1
	for ; lines.Scan(); n++ {
		if err := table.addLine(lines.Text(), n, seen); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w; a line has at most %d bytes", name, n, err, maxLine)
	}
	if read.N == 0 {
		return nil, fmt.Errorf("%s: a table of services has at most %d bytes", name, maxFile)
	}
	return table, nil
}

// addLine adds what one line says. Seen has the line of each name before.
func (s *Resolver) addLine(line string, n int, seen map[string]int) error {
	words := strings.Fields(line)
	for i, word := range words {
		if strings.HasPrefix(word, "#") {
			words = words[:i]
			break
		}
	}
	switch {
	case len(words) == 0:
		return nil
	case len(words) == 1:
		return fmt.Errorf("%q has no address; a line is: name address [address…]", printable.Clean(words[0], wire.MaxName))
	case seen[words[0]] > 0:
		return fmt.Errorf("%q stands already in line %d; write all its addresses there", words[0], seen[words[0]])
	}
	seen[words[0]] = n
	return s.add(words[0], words[1:])
}
