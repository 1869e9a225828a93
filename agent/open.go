package agent

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/target"
)

// maxOwner is how many bytes people are told of who pushes.
const maxOwner = 300

// fewBlocks is how many blocks there must be memory for, at least, before it is known how many a group needs.
const fewBlocks = 4

// open begins a push, or looks only whether it could begin. Who opens it a second time begins anew.
func (a *agent) open(ctx context.Context, caller keys.Identity, q *control.Open) (control.Opened, error) {
	if err := a.checkCertified(caller, q); err != nil {
		return control.Opened{}, err
	}
	free, err := a.disk.Free()
	if err != nil {
		return control.Opened{}, err
	}
	opened := control.Opened{Free: free, Lease: int64(a.config.Lease)}
	order := orderOf(caller, q)
	if q.Check {
		return opened, a.preflight(order)
	}
	s, err := a.beginAnew(ctx, caller, order, q.Key)
	if err != nil {
		return control.Opened{}, err
	}
	opened.Partial, opened.Change = s.store.delivery.Partial(), s.board.read().Change
	return opened, nil
}

// beginAnew begins a push, in place of one of the same number: even of one whose opening is under way, when the connection broke and the
// pusher asks again. But the very request may come twice, and the first one be answered last: then there is nothing to be begun anew, and what has
// begun meanwhile goes on.
func (a *agent) beginAnew(ctx context.Context, caller keys.Identity, order target.Order, key ed25519.PublicKey) (s *session, err error) {
	for {
		if s := a.begun(caller, order, key); s != nil {
			return s, nil
		}
		if err := a.closeFormer(ctx, caller, order.ID); err != nil {
			return nil, err
		}
		if s, err = a.begin(caller, order, key); !errors.Is(err, errOpening) {
			return s, err
		}
	}
}

// begun is the session that a request has begun already; nil: there is none, or it has ended.
func (a *agent) begun(caller keys.Identity, order target.Order, key ed25519.PublicKey) *session {
	s, err := a.find(caller, order.ID)
	if err != nil || s.hasEnded() || !s.key.Equal(key) || !reflect.DeepEqual(s.order, order) {
		return nil
	}
	return s
}

// checkCertified has the very member that calls stand for the key of the push.
func (a *agent) checkCertified(caller keys.Identity, q *control.Open) error {
	if len(q.Chain) == 0 || len(q.Key) != ed25519.PublicKeySize {
		return refused("the push comes without a certificate, or without a key")
	}
	certificate, err := x509.ParseCertificate(q.Chain[0]) // an authority signs directly: nothing else is looked at
	if err != nil {
		return refused("the certificate of the push: %v", err)
	}
	owner, err := a.config.Keys.Peer(tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}})
	if err != nil {
		return refused("the certificate of the push: %v", err)
	}
	if !sameMember(owner, caller) {
		return refused("the key of the push is certified by %s, and %s calls", owner.Name, caller.Name)
	}
	if err := manifest.CheckCertified(q.ID, q.Key, certificate.PublicKey, q.Signed); err != nil {
		return refused("%v", err)
	}
	return nil
}

func orderOf(caller keys.Identity, q *control.Open) target.Order {
	return target.Order{
		ID: q.ID, Owner: printable.Clean(fmt.Sprintf("%s on %s", caller.Name, q.Owner), maxOwner), Dest: q.Dest,
		Single: q.Single, Force: q.Force, Preserve: q.Preserve, Checksum: q.Checksum, Verify: q.Verify, Manifest: q.Manifest, Block: q.Block,
	}
}

// preflight looks whether a push could begin.
func (a *agent) preflight(o target.Order) error {
	blocks, pages := leastMemory(o)
	if err := cmp.Or(a.checkRoom(), a.blocks.fits(o.ID, blocks), a.pages.fits(o.ID, pages)); err != nil {
		return err
	}
	return a.disk.Preflight(o)
}

// leastMemory is what a push needs before a group is formed: some blocks, and all pages of hashes.
func leastMemory(o target.Order) (blocks, pages int) {
	list := manifest.NewLayout(manifest.ManifestStream, o.Manifest.Size, o.Block)
	content := manifest.NewLayout(manifest.ContentStream, o.Manifest.Content, o.Block)
	return fewBlocks * content.Wire(), list.Pages()*list.Header() + content.Pages()*content.Header()
}

// takeMemory takes that.
func (a *agent) takeMemory(o target.Order) error {
	blocks, pages := leastMemory(o)
	err := cmp.Or(a.blocks.take(o.ID, o.Owner, blocks), a.pages.take(o.ID, o.Owner, pages))
	if err != nil {
		a.giveBack(o.ID)
	}
	return err
}

func (a *agent) giveBack(id manifest.ID) {
	a.blocks.giveBack(id)
	a.pages.giveBack(id)
}

// closeFormer ends a push of the same number and member: its pusher has not heard that it was opened, or wants it otherwise.
func (a *agent) closeFormer(ctx context.Context, caller keys.Identity, id manifest.ID) error {
	a.mu.Lock()
	former := a.sessions[id]
	a.mu.Unlock()
	if former == nil {
		return nil
	}
	if _, err := a.find(caller, id); err != nil {
		return err
	}
	former.over(errReopened)
	former.quit()
	select {
	case <-former.torn:
		a.remove(former)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin begins a push.
func (a *agent) begin(caller keys.Identity, order target.Order, key ed25519.PublicKey) (*session, error) {
	a.opening.Lock()
	defer a.opening.Unlock()
	if err := a.checkNew(order.ID); err != nil {
		return nil, err
	}
	if err := a.takeMemory(order); err != nil {
		return nil, err
	}
	d, err := a.disk.Begin(order)
	if err != nil {
		a.giveBack(order.ID)
		return nil, a.orSilent(err)
	}
	s := a.newSession(caller, order, key, d)
	if err := a.add(s); err != nil {
		a.giveBack(order.ID)
		return nil, errors.Join(err, d.Keep())
	}
	a.counts.pushes.Inc()
	s.log.Info("push begins", "dest", order.Dest, "files", order.Manifest.Files, "bytes", order.Manifest.Content, "partial", d.Partial())
	return s, nil
}

// quiet is how long nothing was heard of a pusher that may be dead: others ask twice a second.
const quiet = 2 * time.Second

// orSilent adds to what keeps a push from writing to a place that the pusher of one here may be dead, and until when that is awaited.
func (a *agent) orSilent(err error) error {
	if !errors.Is(err, target.ErrInUse) {
		return err
	}
	for _, s := range a.all() {
		if left := s.lease.left(); !s.hasEnded() && left < s.lease.lasts-quiet {
			return fmt.Errorf("%w; its pusher, or that of another push here, has not been heard of lately: if it is dead, its place is free in %v", err, (left + time.Second).Round(time.Second))
		}
	}
	return err
}

func (a *agent) newSession(caller keys.Identity, order target.Order, key ed25519.PublicKey, d delivery) *session {
	v := manifest.NewVerifier(order.ID, key)
	s := &session{agent: a, owner: caller, order: order, key: key, verifier: v, lease: newLease(a.config.Lease), board: newBoard(d.Content().Blocks()),
		last: -1, torn: make(chan struct{}), work: make(chan struct{}, 1), log: a.log.With("push", order.ID.String(), "owner", order.Owner)}
	s.ctx, s.over = context.WithCancelCause(context.Background())
	s.gone, s.quit = context.WithCancel(context.Background())
	s.store = newStore(d, v, a.counts, s.fail)
	return s
}
