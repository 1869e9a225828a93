package stream

import (
	"context"
	"errors"
	"io"

	"github.com/weft-fabric/weft/ripc"
)

// Write implements net.Conn. It returns when b is the program's again: the bytes are on their way.
func (c *Conn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	written := 0
	for len(b)-written >= bulkLeast {
		n, err := c.lendCopy(b[written:min(len(b), written+bulkMost)])
		written += n
		if err != nil {
			return written, c.problem("write", err)
		}
		if n == 0 {
			break // it cannot be lent
		}
	}
	if written > 0 && written == len(b) {
		return written, nil
	}
	n, err := c.write(c.beginWrite, b[written:], nil)
	return written + n, c.problem("write", err)
}

// write gives bytes, or a buffer with them, to the loop, and waits until they are this end's again.
func (c *Conn) write(begin func(), b []byte, l *loan) (int, error) {
	c.from, c.loan = b, l
	err := c.line.Do(begin)
	if err == nil && !c.isWritten {
		err = c.line.Await(context.Background(), &c.out.wake)
	}
	c.from, c.loan = nil, nil
	if err != nil {
		return 0, nodeClosed(err)
	}
	return c.out.result.n, c.out.result.err
}

// lendCopy copies bytes to a buffer, which the peer reads from there. It writes none if that cannot be.
func (c *Conn) lendCopy(b []byte) (int, error) {
	buffer, err := c.line.Node().Alloc(len(b))
	if err != nil {
		return 0, nil // there is the other way
	}
	defer buffer.Release() // what is lent is kept
	copy(buffer.Bytes(), b)
	return c.write(c.beginLend, nil, &loan{buffer: buffer, size: len(b)})
}

// ReadFrom implements io.ReaderFrom: what io.Copy sends is read into memory that the peer reads from, without a copy.
func (c *Conn) ReadFrom(r io.Reader) (total int64, err error) {
	for err == nil {
		var n int
		n, err = c.readOnce(r)
		total += int64(n)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return total, err
}

// readOnce sends what one Read gives.
func (c *Conn) readOnce(r io.Reader) (written int, err error) {
	buffer, err := c.line.Node().Alloc(bulkMost)
	if err != nil {
		return 0, c.problem("write", err)
	}
	defer buffer.Release() // what is lent is kept
	n, end := r.Read(buffer.Bytes())
	if n > 0 {
		if written, err = c.send(buffer, n); err != nil {
			return written, err
		}
	}
	return written, end
}

// send sends the first bytes of a buffer: it is lent, if that is worth it.
func (c *Conn) send(buffer *ripc.Buffer, size int) (int, error) {
	if size >= bulkLeast {
		c.writing.Lock()
		n, err := c.write(c.beginLend, nil, &loan{buffer: buffer, size: size})
		c.writing.Unlock()
		if n > 0 || err != nil {
			return n, c.problem("write", err)
		}
	}
	return c.Write(buffer.Bytes()[:size])
}
