package push

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

// How hosts are watched. Each status renews the push's lease.
const (
	pollWait = 500 * time.Millisecond // that an agent may wait for something new
	silence  = control.Lease * 8 / 10 // after which a host is lost that does not answer
	retryGap = 100 * time.Millisecond
	knocking = time.Second // that somebody has to open the door
)

// watch begins to watch a host.
func (p *pusher) watch(h *host) {
	ctx, stop := context.WithCancel(p.board.ctx)
	answers, lose := context.WithCancelCause(context.Background())
	h.answers = answers
	p.board.mu.Lock()
	p.board.notes[h] = &note{stop: stop, lose: lose, heard: time.Now()}
	p.board.mu.Unlock()
	p.board.watching.Go(func() { p.runWatch(ctx, h) })
}

// unwatch stops to watch a host that is given up or done. What was heard of it last stays.
func (b *board) unwatch(h *host) {
	if n := b.of(h); n.stop != nil {
		n.stop()
	}
}

// runWatch asks an agent how it goes, until it is lost or nobody wants to know. The board's close waits for it.
func (p *pusher) runWatch(ctx context.Context, h *host) {
	request := control.StatusRequest{ID: p.id, Seen: h.opened.Change, Wait: int64(pollWait)}
	for ctx.Err() == nil {
		status, err := call[control.StatusRequest, control.Status](ctx, p.node, h, silence, control.MethodStatus, request)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			request.Seen = status.Change
			p.board.set(h, func(n *note) { n.status, n.heard = status, time.Now() })
		case p.isLost(h, err):
			p.board.lose(h, err)
			return
		default:
			_ = pause.For(ctx, retryGap) // the loop looks at ctx
		}
	}
}

// lose notes that a host is lost. One that has answered something may answer other calls as well.
func (b *board) lose(h *host, err error) {
	b.set(h, func(n *note) {
		if n.lost == nil { // what is said first is not made longer by what comes of it
			n.lost = err
		}
		if told := new(control.Trouble); !errors.As(err, &told) {
			n.lose(silent(err))
		}
	})
}

// isLost judges whether another try makes sense after an error. What an agent answers is its last word; where nobody is, package ripc
// has tried for a while; and a slow network has as much time as the agent would give us.
func (p *pusher) isLost(h *host, err error) bool {
	var told *control.Trouble
	if errors.As(err, &told) || isAuthorization(err) || isOneOf(err, ripc.ErrUnreachable, ripc.ErrNoService) {
		return true
	}
	return time.Since(p.board.of(h).heard) >= silence
}

// knock looks whether somebody still listens where an agent was. The kernel of a host says at once that nobody does, long before ripc gives up.
func (p *pusher) knock(ctx context.Context, h *host) error {
	door, err := (&net.Dialer{Timeout: knocking}).DialContext(ctx, "tcp", h.address)
	switch {
	case err == nil:
		return door.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		p.board.lose(h, err)
	}
	return nil
}
