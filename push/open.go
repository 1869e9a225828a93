package push

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// leastMemory is what a push needs of an agent's memory for blocks, at the least.
const leastMemory = 8 << 20

// checkOffers gives up the hosts that cannot do what was asked for.
func (p *pusher) checkOffers() {
	for _, h := range alive(p.hosts) {
		if text := p.lacking(&h.greeting); text != "" {
			p.giveUp(h, &control.Trouble{Class: control.Preflight, Text: text})
		}
	}
}

// lacking is what an agent does not offer.
func (p *pusher) lacking(g *control.Greeting) string {
	switch {
	case p.Plain && !g.Plain:
		return "its agent takes no data that is not encrypted: leave out --plain, or allow it in the agent's configuration"
	case p.Way != Auto && !slices.Contains(g.Ways, p.Way):
		return fmt.Sprintf("its agent does not have the way %s, but %v", p.Way, g.Ways)
	case g.Memory < leastMemory:
		return fmt.Sprintf("%v of memory for blocks are free at its agent: wait until other pushes have ended", units.Bytes(g.Memory))
	}
	return ""
}

// open begins the push at all hosts, or only asks whether they could.
func (p *pusher) open(ctx context.Context, verify bool) error {
	request, err := p.openRequest(verify)
	if err != nil {
		return err
	}
	all := alive(p.hosts)
	p.atEach(ctx, all, p.Fan, func(ctx context.Context, h *host) error { return p.openAt(ctx, h, request) })
	return p.anybody(ctx)
}

// openAt begins it at one host, which is watched from then on: its lease has begun.
func (p *pusher) openAt(ctx context.Context, h *host, request *control.Open) (err error) {
	defer p.calls.Add(1)
	h.isOpen = !request.Check // also if the answer is lost
	h.opened, err = call[control.Open, control.Opened](ctx, p.node, h, p.ConnectTimeout, control.MethodOpen, *request)
	if err == nil && h.isOpen {
		p.watch(h)
	}
	return err
}

func (p *pusher) openRequest(verify bool) (*control.Open, error) {
	owner, err := certificateOf(p.Keys)
	if err != nil {
		return nil, err
	}
	public, _ := p.key.Public().(ed25519.PublicKey)
	signed, err := manifest.Certify(p.id, public, owner.PrivateKey.(crypto.Signer), rand.Reader) //nolint:forcetypeassert // certificateOf has looked
	if err != nil {
		return nil, fmt.Errorf("certify the key of the push: %w", err)
	}
	here, _ := os.Hostname()
	return &control.Open{
		ID: p.id, Owner: here, Dest: p.Dest, Check: p.DryRun, Force: p.Force, Preserve: p.Preserve, Checksum: p.Checksum, Verify: verify, Single: p.source.Single(),
		Manifest: p.source.Summary(), Block: p.content.Block, Key: public, Chain: owner.Certificate, Signed: signed,
	}, nil
}

// certificateOf is the certificate that a keyring shows, with its key.
func certificateOf(ring *keys.Keyring) (*tls.Certificate, error) {
	show := ring.TLS().GetClientCertificate
	if show == nil {
		return nil, errors.New("the keys have no certificate to show")
	}
	c, err := show(new(tls.CertificateRequestInfo))
	if err != nil {
		return nil, err
	}
	if _, ok := c.PrivateKey.(crypto.Signer); !ok {
		return nil, errors.New("the key of the certificate cannot sign")
	}
	return c, nil
}
