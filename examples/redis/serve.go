package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/stream"
)

// store is a map that clients share.
type store struct {
	mu     sync.Mutex
	values map[string]string
}

// serve answers until ctx ends.
func serve(ctx context.Context, n *ripc.Node) error {
	l, err := stream.Listen(ctx, n, "example/store")
	if err != nil {
		return err
	}
	s := &store{values: make(map[string]string)}
	var clients sync.WaitGroup
	defer clients.Wait()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	fmt.Println("serving", l.Addr())
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		clients.Go(func() { s.attend(ctx, c) })
	}
}

// attend answers one client, until it leaves or ctx ends.
func (s *store) attend(ctx context.Context, c net.Conn) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	in, out := bufio.NewReader(c), bufio.NewWriter(c)
	for {
		words, err := readCommand(in)
		if err != nil {
			return
		}
		_, _ = out.WriteString(s.answer(words)) // Flush says what is wrong
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

func (s *store) answer(words []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch command := strings.ToUpper(words[0]); {
	case command == "SET" && len(words) == 3:
		s.values[words[1]] = words[2]
		return "+OK\r\n"
	case command == "GET" && len(words) == 2:
		value, found := s.values[words[1]]
		if !found {
			return "$-1\r\n"
		}
		return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
	}
	return "-ERR unknown command\r\n"
}

// readCommand reads an array of strings, as Redis's clients send it, of at most 16 words of a mebibyte.
func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readNumber(in, '*', 1, 16)
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readNumber(in, '$', 0, 1<<20)
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

// readNumber reads a line with a mark and a number.
func readNumber(in *bufio.Reader, mark byte, least, most int) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	text, marked := strings.CutPrefix(strings.TrimSpace(string(line)), string(mark))
	n, err := strconv.Atoi(text)
	if err != nil || !marked || n < least || n > most {
		return 0, fmt.Errorf("%q is no %c with %d to %d", line, mark, least, most)
	}
	return n, nil
}
