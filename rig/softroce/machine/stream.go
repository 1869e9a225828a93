package machine

import (
	"errors"
	"io"
	"os"
)

// outcome is how a command ended.
type outcome struct {
	status int
	err    error // if there is no status
}

var errNoStatus = errors.New("it ended without an exit status")

// stream reads one of the two outputs of a guest's command.
type stream struct {
	marked
	ended chan outcome // gets one
}

func newStream(to io.Writer, mark string) *stream {
	return &stream{marked: marked{to: to, mark: []byte(mark)}, ended: make(chan outcome, 1)}
}

// runRead reads until the machine has ended, also behind the status: a machine that cannot write would stand still, and its
// peer with it.
func (s *stream) runRead(from *os.File) {
	defer func() { _ = from.Close() }()
	_, err := io.Copy(s, from)
	if err == nil {
		err = errNoStatus
	}
	if lines, ok := s.to.(*numbered); ok {
		_ = lines.flush() // whoever cannot write has been told so before
	}
	s.end(outcome{err: err})
}

// Write passes on what a guest writes, and notices its end.
func (s *stream) Write(data []byte) (int, error) {
	n, err := s.marked.Write(data)
	if status, whole, bad := s.status(); whole {
		s.end(outcome{status, bad})
	}
	return n, err
}

// end tells how the command ended. Only the first time counts.
func (s *stream) end(o outcome) {
	select {
	case s.ended <- o:
	default:
	}
}
