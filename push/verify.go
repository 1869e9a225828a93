package push

import "context"

// verify sends the manifest, and has all hosts compare what they have with the source. To finish means to them to say what is different.
func (p *pusher) verify(ctx context.Context) error {
	if err := p.prepare(ctx); err != nil {
		return err
	}
	if err := p.open(ctx, true); err != nil || p.DryRun {
		return err
	}
	if err := p.join(); err != nil {
		return err
	}
	g, err := p.sendManifest(ctx)
	if err != nil {
		return err
	}
	if g != nil {
		p.end(ctx, g)
	}
	if err := p.compare(ctx, alive(p.hosts)); err != nil {
		return err
	}
	return p.finish(ctx, p.hosts, "differ")
}
