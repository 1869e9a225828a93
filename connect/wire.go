package connect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/weft-fabric/weft/internal/printable"
)

// grace is how long an end that gives up waits for the peer to take what it has to say.
const grace = time.Second

// The kinds of frames.
const (
	kindCard    = 1
	kindGoodbye = 2
)

const (
	frameSize  = 1 + 4 + 4 // of a frame's head
	maxGoodbye = 1024      // bytes of a reason
)

// wire carries messages over a connection, plain or TLS.
type wire struct{ conn net.Conn }

// exchange sends out while read reads, so that two ends that do the same never wait for each other, however much they
// have to say. It ends when both are done, or ctx is.
func (w wire) exchange(ctx context.Context, out []byte, read func() error) error {
	defer w.guard(ctx)()
	sent := make(chan error, 1)
	go w.runSend(out, sent)
	err := read()
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		_ = w.conn.SetWriteDeadline(time.Now().Add(grace)) // the peer should hear us, but need not
	}
	if failed := <-sent; err == nil {
		err = failed
	}
	return explain(ctx, err)
}

// runSend is the other half of exchange, which waits for it. It ends when everything is sent, or with the connection's
// deadline.
func (w wire) runSend(out []byte, sent chan<- error) {
	_, err := w.conn.Write(out)
	sent <- err
}

// guard has the connection time out when ctx ends, until the returned function is called.
func (w wire) guard(ctx context.Context) func() {
	deadline, _ := ctx.Deadline()
	_ = w.conn.SetDeadline(deadline) // an error means that the connection is closed: whoever uses it next will see that
	ran := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ran)
		_ = w.conn.SetDeadline(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-ran // it must not hit what comes next
		}
	}
}

// readBody takes memory as bytes arrive, not as they are announced.
func readBody(from io.Reader, length uint32) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(length, 4<<10)))
	_, err := io.CopyN(&body, from, int64(length))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return body.Bytes(), err
}

// cardFrame makes the message of a card that was checked.
func cardFrame(round uint32, card *Card) []byte {
	return finishFrame(card.appendTo(startFrame(kindCard, round)))
}

func startFrame(kind byte, round uint32) []byte {
	frame := make([]byte, frameSize, 256)
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], round)
	return frame
}

func finishFrame(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame[5:], uint32(len(frame)-frameSize))
	return frame
}

// readCard reads the peer's card of a round, or why there will be none.
func readCard(from io.Reader, round uint32) (Card, error) {
	var head [frameSize]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return Card{}, err
	}
	kind, theirs, length := head[0], binary.BigEndian.Uint32(head[1:]), binary.BigEndian.Uint32(head[5:])
	switch {
	case kind == kindGoodbye:
		return Card{}, readGoodbye(from, length)
	case kind != kindCard:
		return Card{}, fmt.Errorf("%w: a frame of kind %d", ErrMalformed, kind)
	case length > maxCard:
		return Card{}, fmt.Errorf("%w: a card of %d bytes, allowed are %d", ErrMalformed, length, maxCard)
	case theirs != round:
		return Card{}, fmt.Errorf("%w: this end is in round %d, the peer in round %d", ErrOutOfStep, round, theirs)
	}
	body, err := readBody(from, length)
	if err != nil {
		return Card{}, err
	}
	card, err := decodeCard(body)
	if err != nil {
		return Card{}, fmt.Errorf("%w: card: %w", ErrMalformed, err)
	}
	return card, nil
}

// readGoodbye returns the peer's reason as an error.
func readGoodbye(from io.Reader, length uint32) error {
	if length > maxGoodbye {
		return fmt.Errorf("%w: a reason of %d bytes, allowed are %d", ErrMalformed, length, maxGoodbye)
	}
	reason, err := readBody(from, length)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrGaveUp, printable.Clean(string(reason), maxGoodbye))
}

// goodbye tells the peer why there will be nothing more, and closes.
func (w wire) goodbye(reason string) error {
	_ = w.conn.SetWriteDeadline(time.Now().Add(grace))
	frame := append(startFrame(kindGoodbye, 0), printable.Clean(reason, maxGoodbye)...)
	if _, err := w.conn.Write(finishFrame(frame)); err != nil {
		return w.conn.Close()
	}
	return w.linger()
}

// linger closes so that the peer can still read what was sent: a system that closes with bytes unread cuts the
// connection, and takes back what is on its way.
func (w wire) linger() error {
	deadline := time.Now().Add(grace)
	_ = w.conn.SetDeadline(deadline)
	if half, ok := w.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, w.conn, 2*maxCard)
	}
	return w.conn.Close()
}
