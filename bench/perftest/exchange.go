package perftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-fabric/weft/connect"
)

// Exchange is how the sides talk beside the queue pairs: each gives a card and gets the other's. A connect.Session is
// one.
type Exchange interface {
	Swap(ctx context.Context, mine connect.Card) (theirs connect.Card, err error)
}

// note is what a side says in a round, apart from addresses and spans.
type note struct {
	Failed     string `json:"failed,omitempty"`      // the side gives up, and why
	CutOff     bool   `json:"cut_off,omitempty"`     // it failed because its queue pairs do not reach the other's
	Plan       *Plan  `json:"plan,omitempty"`        // the client's
	MaxMessage uint32 `json:"max_message,omitempty"` // of the side's device, in bytes, beside the plan
	Last       bool   `json:"last,omitempty"`        // the client's: there will be no further run
	CPU        int64  `json:"cpu_ns,omitempty"`      // the server's, for a run
	Wrong      string `json:"wrong,omitempty"`       // the server's: which bytes are not as they must be
	Sum        uint64 `json:"sum,omitempty"`         // the server's: all words that atomics have changed, added up
}

// stepTime bounds a round. Both sides come to it at about the same time; filling and comparing memory is between.
// Who has failed only wants to say so: the peer may well be what is gone.
const (
	stepTime   = 30 * time.Second
	failedTime = 2 * time.Second
)

// talk is a side's end of the exchange.
type talk struct{ exchange Exchange }

// round swaps notes, and fails if the peer has failed.
func (t talk) round(ctx context.Context, step string, mine note) (note, error) {
	_, theirs, err := t.cards(ctx, connect.Card{Step: step}, mine)
	return theirs, err
}

func (t talk) cards(ctx context.Context, mine connect.Card, said note) (theirs connect.Card, heard note, err error) {
	if mine.Note, err = json.Marshal(said); err != nil {
		return theirs, heard, err
	}
	if ctx.Err() != nil {
		return theirs, heard, ctx.Err() // a swap would break the session, which can still say why
	}
	ctx, cancel := context.WithTimeout(ctx, said.patience())
	defer cancel()
	if theirs, err = t.exchange.Swap(ctx, mine); err != nil {
		return theirs, heard, lastWord(err)
	}
	if err := json.Unmarshal(theirs.Note, &heard); err != nil {
		return theirs, heard, fmt.Errorf("%s: the peer's note cannot be read (is it of another version?): %w", mine.Step, err)
	}
	if heard.Failed != "" {
		return theirs, heard, fmt.Errorf("the peer: %s", heard.Failed)
	}
	return theirs, heard, nil
}

// patience is how long a round with this note may take. Who is cut off waits: the other notices it only after a while.
func (n *note) patience() time.Duration {
	if n.Failed != "" && !n.CutOff {
		return failedTime
	}
	return stepTime
}

// lastWord leaves of an error what the peer said when it gave up, if it did: in which round does not matter then.
func lastWord(err error) error {
	if !errors.Is(err, connect.ErrGaveUp) {
		return err
	}
	inner := errors.Unwrap(err)
	if inner == nil || errors.Unwrap(inner) == nil {
		return err // the innermost that has words of its own
	}
	return lastWord(inner)
}

// why is what a run failed with, of what this side has found and what came of telling the peer. A peer that gave up has
// said why, and everything else follows from that.
func why(mine, told error) error {
	if errors.Is(told, connect.ErrGaveUp) {
		return told
	}
	return both(mine, told)
}

// both joins two errors, of which each may be nil, in one line.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// text is the message of an error, or nothing.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Pipe is one end of an Exchange within a process.
type Pipe struct {
	send    chan<- connect.Card
	receive <-chan connect.Card
	closed  chan struct{} // of both ends
	once    *sync.Once    // of both ends
}

// ErrPipeClosed is what a Swap fails with after Close of either end.
var ErrPipeClosed = errors.New("the other side has ended")

// NewPipe makes two ends that are connected.
func NewPipe() (a, b *Pipe) {
	forth, back := make(chan connect.Card, 1), make(chan connect.Card, 1)
	closed, once := make(chan struct{}), &sync.Once{}
	return &Pipe{forth, back, closed, once}, &Pipe{back, forth, closed, once}
}

// Close ends the pipe for both ends.
func (p *Pipe) Close() { p.once.Do(func() { close(p.closed) }) }

// Swap implements Exchange.
func (p *Pipe) Swap(ctx context.Context, mine connect.Card) (theirs connect.Card, err error) {
	select {
	case p.send <- mine:
	case <-p.closed:
		return theirs, ErrPipeClosed
	case <-ctx.Done():
		return theirs, ctx.Err()
	}
	select {
	case theirs = <-p.receive:
		return theirs, nil
	default:
	}
	select {
	case theirs = <-p.receive:
		return theirs, nil
	case <-p.closed:
		return theirs, ErrPipeClosed
	case <-ctx.Done():
		return theirs, ctx.Err()
	}
}
