package machine

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// shared lets several streams write to one place.
type shared struct {
	to io.Writer
	mu *sync.Mutex
}

func (s shared) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(data)
}

// maxLine is how many bytes a line may have before it is cut.
const maxLine = 64 << 10

// numbered writes whole lines, each behind the number of a machine.
type numbered struct {
	to     io.Writer
	number int
	line   []byte // has begun
}

func (n *numbered) Write(data []byte) (int, error) {
	n.line = append(n.line, data...)
	for {
		end := bytes.IndexByte(n.line, '\n')
		if end < 0 && len(n.line) < maxLine {
			return len(data), nil
		}
		if end < 0 {
			end = maxLine - 1
		}
		if err := n.put(n.line[:end]); err != nil {
			return 0, err
		}
		n.line = n.line[end+1:]
	}
}

// flush writes a last line that has no end. Nothing is written after it.
func (n *numbered) flush() error {
	if len(n.line) == 0 {
		return nil
	}
	return n.put(n.line)
}

func (n *numbered) put(line []byte) error {
	_, err := fmt.Fprintf(n.to, "%d| %s\n", n.number, line)
	return err
}
