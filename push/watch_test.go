package push

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// Nobody waits for the answer of a host that is lost; one that has said what is wrong may answer other calls.
func TestNobodyWaitsForALostHost(t *testing.T) {
	for _, c := range []struct {
		err  error
		gone bool
	}{
		{context.DeadlineExceeded, true},
		{errors.New("connection refused"), true},
		{&control.Trouble{Class: control.Other, Text: "there is no such push"}, false},
	} {
		p, h := &pusher{board: newBoard(context.Background())}, &host{}
		p.board.stopAll() // nobody is asked
		p.watch(h)
		ctx, done := h.whileAnswers(context.Background())
		p.board.lose(h, c.err)
		if c.gone {
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
		}
		var trouble *control.Trouble
		if isGone := errors.As(context.Cause(ctx), &trouble); isGone != c.gone || isGone && trouble.Class != control.Unreachable {
			t.Errorf("%v: %v", c.err, context.Cause(ctx))
		}
		done()
		p.board.close()
	}
}

// What is said first of a host that is lost counts: calls that end because of it say the same with more words.
func TestLostOnce(t *testing.T) {
	p, h := &pusher{board: newBoard(context.Background())}, &host{}
	p.board.stopAll() // nobody is asked
	p.watch(h)
	first := errors.New("connection refused")
	p.board.lose(h, first)
	p.board.lose(h, fmt.Errorf("status: %w", silent(first)))
	if err := p.board.of(h).lost; !errors.Is(err, first) {
		t.Error(err)
	}
	p.board.close()
}
