package perftest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// Card is what one side gives the other in a round.
type Card struct {
	Step      string
	Addresses []verbs.Address
	Spans     []verbs.RemoteSpan
	Note      []byte
}

// Exchange is how the sides talk beside the queue pairs: each gives a card and gets the other's.
type Exchange interface {
	Swap(ctx context.Context, mine Card) (theirs Card, err error)
}

// note is what a side says in a round, apart from addresses and spans.
type note struct {
	Failed string `json:"failed,omitempty"` // the side gives up, and why
	Plan   *Plan  `json:"plan,omitempty"`   // the client's
	Last   bool   `json:"last,omitempty"`   // the client's: there will be no further run
	CPU    int64  `json:"cpu_ns,omitempty"` // the server's, for a run
	Wrong  string `json:"wrong,omitempty"`  // the server's: which bytes are not as they must be
	Sum    uint64 `json:"sum,omitempty"`    // the server's: all words that atomics have changed, added up
}

// stepTime bounds a round. Both sides come to it at about the same time; filling and comparing memory is between.
const stepTime = 30 * time.Second

// talk is a side's end of the exchange.
type talk struct{ exchange Exchange }

// round swaps notes, and fails if the peer has failed. It goes on after ctx is done, because an interrupted client still
// says good-bye.
func (t talk) round(ctx context.Context, step string, mine note) (note, error) {
	_, theirs, err := t.cards(ctx, Card{Step: step}, mine)
	return theirs, err
}

func (t talk) cards(ctx context.Context, mine Card, said note) (theirs Card, heard note, err error) {
	if mine.Note, err = json.Marshal(said); err != nil {
		return theirs, heard, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTime)
	defer cancel()
	if theirs, err = t.exchange.Swap(ctx, mine); err != nil {
		return theirs, heard, err
	}
	if err := json.Unmarshal(theirs.Note, &heard); err != nil {
		return theirs, heard, fmt.Errorf("%s: the peer's note cannot be read (is it of another version?): %w", mine.Step, err)
	}
	if heard.Failed != "" {
		return theirs, heard, fmt.Errorf("the peer: %s", heard.Failed)
	}
	return theirs, heard, nil
}

// text is the message of an error, or nothing.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// NewPipe makes the two ends of an Exchange within a process.
func NewPipe() (a, b Exchange) {
	forth, back := make(chan Card, 1), make(chan Card, 1)
	return pipe{forth, back}, pipe{back, forth}
}

type pipe struct {
	send    chan<- Card
	receive <-chan Card
}

// Swap implements Exchange.
func (p pipe) Swap(ctx context.Context, mine Card) (theirs Card, err error) {
	select {
	case p.send <- mine:
	case <-ctx.Done():
		return theirs, ctx.Err()
	}
	select {
	case theirs = <-p.receive:
		return theirs, nil
	case <-ctx.Done():
		return theirs, ctx.Err()
	}
}
