package pingpong

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// exchangeTime bounds the exchange, from the first byte to the last.
const exchangeTime = 10 * time.Second

// ask is the client's part of the exchange.
func ask(ctx context.Context, conn net.Conn, mine line) (theirs line, err error) {
	err = within(ctx, conn, func() error {
		if _, err := conn.Write(mine.encode()); err != nil {
			return err
		}
		if theirs, err = readLine(conn); err != nil {
			return err
		}
		_, err = conn.Write([]byte(done))
		return err
	})
	return theirs, err
}

// answer is the server's part. Meet connects the queue pair with the client's, and says where it is.
func answer(ctx context.Context, conn net.Conn, meet func(theirs line) (mine line, err error)) error {
	return within(ctx, conn, func() error {
		theirs, err := readLine(conn)
		if err != nil {
			return err
		}
		mine, err := meet(theirs)
		if err != nil {
			return err
		}
		if _, err := conn.Write(mine.encode()); err != nil {
			return err
		}
		word, err := read(conn, len(done))
		if err == nil && string(word) != done {
			err = fmt.Errorf("%w: its last word is %q", ErrExchange, word)
		}
		return err
	})
}

func readLine(conn net.Conn) (line, error) {
	text, err := read(conn, len(shape))
	if err != nil {
		return line{}, err
	}
	return parseLine(text)
}

// read takes n bytes. What came instead of them is part of the error: it tells who the peer really is.
func read(conn net.Conn, n int) ([]byte, error) {
	text := make([]byte, n)
	got, err := io.ReadFull(conn, text)
	switch {
	case err == nil:
		return text, nil
	case got > 0:
		return nil, fmt.Errorf("%w: it says %q, and no more: %w", ErrExchange, text[:got], err)
	case errors.Is(err, io.EOF):
		return nil, errors.New("the peer hung up before it said where its queue pair is")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("the peer has not said within %v where its queue pair is: %w", exchangeTime, err)
	}
	return nil, err
}

// within bounds a step by time and by ctx, whose error counts if it ended first.
func within(ctx context.Context, conn net.Conn, step func() error) error {
	if err := conn.SetDeadline(time.Now().Add(exchangeTime)); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if err := step(); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}
