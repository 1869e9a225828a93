package push

import (
	"context"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// pagesPatience is how long an agent may take for some pages: it may compare with them what it has not hashed yet.
const pagesPatience = 10 * time.Minute

// compare has agents that may have some of the content find out what of it is right, by signed pages of hashes.
func (p *pusher) compare(ctx context.Context, some []*host) error {
	if len(some) == 0 {
		return p.anybody(ctx)
	}
	if err := p.hashAll(ctx); err != nil {
		return err
	}
	p.phase("examine")
	p.atEach(ctx, some, p.Fan, func(ctx context.Context, h *host) error {
		p.board.set(h, func(n *note) { n.asked = true })
		defer p.board.set(h, func(n *note) { n.asked = false })
		return p.sendPages(ctx, h)
	})
	return p.anybody(ctx)
}

// hashAll hashes what is not known of the source.
func (p *pusher) hashAll(ctx context.Context) error {
	p.phase("hash")
	err := p.object.content().HashAll(ctx, p.hashed)
	if err != nil && ctx.Err() == nil {
		return ofSource(err)
	}
	return orCauseOf(ctx, err)
}

func orCauseOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return orCause(ctx, err)
}

// sendPages sends all pages of the content to an agent, as many at a time as are allowed.
func (p *pusher) sendPages(ctx context.Context, h *host) error {
	pages := p.content.Pages()
	most := max(1, control.MaxPages/p.content.Header())
	for first := 0; first < pages; first += most {
		request := control.Pages{ID: p.id, First: first, Last: first+most >= pages}
		for page := first; page < min(first+most, pages); page++ {
			header, err := p.object.content().Header(page)
			if err != nil {
				return err
			}
			request.Pages = append(request.Pages, header)
		}
		if _, err := call[control.Pages, control.Empty](ctx, p.node, h, pagesPatience, control.MethodPages, request); err != nil {
			return err
		}
		p.calls.Add(1)
	}
	return nil
}
