package machine

import (
	"bytes"
	"io"
	"strconv"
)

// marked passes on what a guest writes until a mark comes, and reads the exit status behind it. Nothing is held back but
// what may be the mark's beginning.
type marked struct {
	to     io.Writer
	mark   []byte
	held   []byte // what may be the mark's beginning, or, once it came, what is behind it
	isOver bool   // the mark came
}

// maxStatus is the length of the longest text that can stand behind a mark: a space, three digits, a newline.
const maxStatus = 5

// Write fails only if the writer behind it does. What comes behind the mark and its status is ignored.
func (m *marked) Write(data []byte) (int, error) {
	if m.isOver {
		m.held = append(m.held, data[:min(len(data), maxStatus-len(m.held))]...)
		return len(data), nil
	}
	text := append(m.held, data...)
	before, behind, found := bytes.Cut(text, m.mark)
	if !found {
		keep := overlap(text, m.mark)
		before, behind = text[:len(text)-keep], text[len(text)-keep:]
	}
	_, err := m.to.Write(before)
	m.isOver = found
	m.held = bytes.Clone(behind[:min(len(behind), max(len(m.mark), maxStatus))])
	return len(data), err
}

// status returns the exit status, and whether all of it has come. A mark without a status is an error.
func (m *marked) status() (status int, whole bool, err error) {
	line, _, whole := bytes.Cut(m.held, []byte("\n"))
	if !m.isOver || !whole && len(m.held) < maxStatus {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(string(bytes.TrimPrefix(line, []byte(" "))), 10, 8)
	if err != nil {
		return 0, true, errNoStatus
	}
	return int(n), true, nil
}

// overlap returns how many bytes at the end of text are the beginning of mark, but not all of it.
func overlap(text, mark []byte) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}
