package push

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// commitPatience is how long a host may take to write everything to its disk and name it. When its agent dies meanwhile, that is heard at once.
const commitPatience = 2 * time.Hour

// finish has hosts that have everything verify and commit it, or say what is different.
func (p *pusher) finish(ctx context.Context, all []*host, phase string) error {
	if all = alive(all); len(all) == 0 {
		return context.Cause(ctx)
	}
	if err := p.asExpected(ctx); err != nil {
		return err
	}
	closing, err := p.closing(ctx)
	if err != nil {
		return err
	}
	p.phase(phase)
	p.atEach(ctx, all, len(all), func(ctx context.Context, h *host) error { return p.finishAt(ctx, h, closing) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// closing is the signed word on what everybody must have.
func (p *pusher) closing(ctx context.Context) ([]byte, error) {
	root, known := p.object.content().Root()
	if !known { // nobody needed to be sent some of the blocks
		if err := p.hashAll(ctx); err != nil {
			return nil, err
		}
		root, _ = p.object.content().Root()
	}
	p.root = root
	s := p.source.Summary()
	return manifest.NewSigner(p.id, p.key).SealClosing(manifest.Closing{Manifest: s.Hash, Root: root, Content: s.Content, Files: s.Files}), nil
}

func (p *pusher) finishAt(ctx context.Context, h *host, closing []byte) error {
	done, err := call[control.Finish, control.Finished](ctx, p.node, h, commitPatience, control.MethodFinish, control.Finish{ID: p.id, Closing: closing})
	if err != nil {
		return err
	}
	if !bytes.Equal(done.Root, p.root[:]) {
		return &control.Trouble{Class: control.Integrity, Text: fmt.Sprintf("has committed something else: its root is %x, and not %x", done.Root, p.root)}
	}
	p.board.mu.Lock()
	h.finished = &done
	p.board.mu.Unlock()
	p.board.unwatch(h)
	p.calls.Add(1)
	p.emit(Event{Kind: EventHostDone, Host: h.name})
	return nil
}
