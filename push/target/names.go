package target

import (
	"fmt"
	"strings"
)

// maxNames is how many names a list shows.
const maxNames = 5

// names are paths for people: the first few, and how many there are.
type names struct {
	first []string
	count int
}

func (n *names) add(path string) {
	n.count++
	if len(n.first) < maxNames {
		n.first = append(n.first, path)
	}
}

func (n *names) conflict() error {
	quoted := make([]string, len(n.first))
	for i, path := range n.first {
		quoted[i] = fmt.Sprintf("%q", path)
	}
	text := strings.Join(quoted, ", ")
	if more := n.count - len(n.first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%s: %w", text, ErrExists)
}
