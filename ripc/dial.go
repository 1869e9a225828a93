package ripc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/verbs"
)

// errCrossed is how a meeting ends when both processes have dialled each other: the other meeting counts.
var errCrossed = errors.New("the other process has dialled too, and that counts")

// dial makes a link to the peer, in a goroutine of the node's.
func (p *peer) dial() {
	if p.dials {
		return
	}
	p.dials = true
	n, at, node := p.office.node, p.at, p.node
	n.runs.Go(func() {
		err := n.runDial(at, node, p)
		_ = n.on(func() { p.dialled(err) }) // after Close nobody waits
	})
}

// dialled hears how it went. If the other's meeting counts, that one brings the link, or has.
func (p *peer) dialled(err error) {
	p.dials = false
	switch {
	case err == nil || p.link != nil:
		p.dialIfNeeded() // it may have been lost since, and what was sent then waits
		p.dropUnused()
	case errors.Is(err, errCrossed):
		p.dialLater()
	default:
		p.fail(err)
	}
}

// crossedPause is how long the other's meeting is waited for: it is under way, or has failed.
const crossedPause = 250 * time.Millisecond

// dialLater dials once more, if the other's meeting has brought no link.
func (p *peer) dialLater() {
	n := p.office.node
	n.runs.Go(func() {
		if pause.For(n.ctx, crossedPause) == nil {
			_ = n.on(p.dialIfNeeded) // after Close nobody waits
		}
	})
}

func (p *peer) dialIfNeeded() {
	if p.link == nil && !p.queue.Empty() {
		p.dial()
	}
}

// runDial tries the addresses of a process in turn.
func (n *Node) runDial(at []string, node ID, p *peer) (err error) {
	err = errors.New("it does not say where it listens")
	for _, address := range at {
		var s *connect.Session
		if s, err = connect.Dial(n.ctx, address, n.options()); err != nil {
			err = forbidden(hidden(address, err))
			continue
		}
		err = n.meet(s, func(h *hello) (*peer, error) { return p.meets(node, h) })
		if err == nil || errors.Is(err, errCrossed) || n.ctx.Err() != nil {
			return err
		}
	}
	if node == (ID{}) { // only where it listens was known, and the error names that
		return fmt.Errorf("no link: %w", err)
	}
	return fmt.Errorf("no link to %s: %w", process(node), err)
}

// hidden says what to do about a process that was not told where to listen, if it may be one of another host: nobody of this one is there.
func hidden(address string, err error) error {
	if !strings.HasPrefix(address, ownSocket) || !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return fmt.Errorf("%w: if it is on another host, it has to listen there: set its Config.Listen", err)
}

// forbidden says that it is a certificate, this end's or the peer's, that is in the way, if it is.
func forbidden(err error) error {
	for _, why := range []error{connect.ErrRejected, keys.ErrUntrusted, keys.ErrExpired, keys.ErrNoIdentity} {
		if errors.Is(err, why) {
			return fmt.Errorf("%w: %w", ErrForbidden, err)
		}
	}
	return err
}

// meets decides, on the loop, about a process that was dialled: another one than was meant may listen there by now. If only its
// address was known, it may be one that this process is linked with.
func (p *peer) meets(node ID, h *hello) (*peer, error) {
	other := p.office.peers[h.node]
	switch {
	case h.node == p.office.node.id:
		return nil, errors.New("that is this process itself")
	case node != (ID{}) && h.node != node:
		return nil, fmt.Errorf("%s is there instead", process(h.node))
	case other != nil && other != p && other.link != nil:
		other.inherit(p)
		return nil, errCrossed
	}
	return p, nil
}

// inherit takes over what waits for a process that turned out to be p.
func (p *peer) inherit(from *peer) {
	for _, r := range p.office.routes {
		if r.peer == from {
			r.peer = p
		}
	}
	p.office.drop(from)
	for _, o := range from.queue.Drain() {
		p.send(o)
	}
}

// maxMeetings is how many that have dialled are greeted at a time; the others wait. Each holds a few receives.
const maxMeetings = 64

// runAccept greets whoever dials, each in a goroutine of its own, until the listener is closed.
func (n *Node) runAccept(l *connect.Listener) {
	for {
		n.meetings <- struct{}{} // each of them ends by itself
		s, err := l.Accept(n.ctx)
		if err != nil {
			<-n.meetings
			return
		}
		n.runs.Go(func() {
			defer func() { <-n.meetings }()
			if err := n.meet(s, n.office.admit); err != nil && n.ctx.Err() == nil {
				n.log.Info("a process was not linked", "session", s.String(), "error", err)
			}
		})
	}
}

// admit decides, on the loop, about a process that has dialled. If this one is dialling it at the same time, that of the lower
// ID counts.
func (f *office) admit(h *hello) (*peer, error) {
	p := f.peers[h.node]
	switch {
	case f.isLeaving:
		return nil, errors.New("this process is about to end")
	case h.node == f.node.id:
		return nil, fmt.Errorf("%w: %s is this one itself", ErrForbidden, process(h.node))
	case f.linksOf(h.owner) >= maxLinksOfOwner:
		return nil, fmt.Errorf("%w: %d processes of %q are linked", ErrRefused, maxLinksOfOwner, h.owner)
	case p == nil:
		p = &peer{office: f, node: h.node} // it is known when it is linked: before that, it may leave
	case p.link != nil && p.link.Probe():
		return nil, fmt.Errorf("%s is linked already", process(h.node))
	case p.dials && lower(f.node.id, h.node):
		return nil, errCrossed
	}
	return p, nil
}

// maxLinksOfOwner is how many processes of one certificate are linked: one member must not take all receives from the others.
const maxLinksOfOwner = 512

// linksOf is how many processes of an owner are linked. Those without one are all of the same user, or trusted.
func (f *office) linksOf(owner string) (n int) {
	for _, p := range f.peers {
		if owner != "" && p.link != nil && p.owner == owner {
			n++
		}
	}
	return n
}

func lower(a, b ID) bool { return string(a[:]) < string(b[:]) }

// meet links this process with the one at the other end of a session. decide says, on the loop, with whom, or why not; both ends
// hear what the other has decided.
func (n *Node) meet(s *connect.Session, decide func(*hello) (*peer, error)) error {
	defer func() { _ = s.Close() }() // it has done its work
	ctx, cancel := context.WithTimeout(n.ctx, linkTimeout)
	defer cancel()
	who, err := n.config.identify(s)
	if err != nil {
		return err
	}
	var l *link.Link
	var mine hello
	if failed := n.on(func() { l, mine, err = n.office.newEnd() }); failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	linked := false
	defer func() {
		if !linked {
			_ = n.on(l.Close) // after Close it is gone
		}
	}()
	theirs, card, err := n.greet(ctx, s, who, mine, l)
	if err != nil {
		return err
	}
	var p *peer
	if failed := n.on(func() { p, err = decide(&theirs) }); failed != nil {
		return failed
	}
	if err := verdicts(ctx, s, err); err != nil {
		return err
	}
	failed := n.on(func() { err = n.office.join(p, l, &theirs, card.Addresses[0]) })
	linked = failed == nil && err == nil
	return errors.Join(failed, err)
}

// newEnd makes an end of a link, and what the other process has to know of it.
func (f *office) newEnd() (*link.Link, hello, error) {
	if f.isClosed {
		return nil, hello{}, ErrClosed
	}
	l, err := f.hub.NewLink()
	if err != nil {
		return nil, hello{}, err
	}
	return l, hello{salt: f.node.salt, provider: f.node.config.Device.Limits().Provider, terms: l.Terms()}, nil
}

// greet swaps the hellos, and the addresses of the queue pairs.
func (n *Node) greet(ctx context.Context, s *connect.Session, who rights, mine hello, l *link.Link) (theirs hello, card connect.Card, err error) {
	card, err = s.Swap(ctx, connect.Card{Step: "ripc", Addresses: []verbs.Address{l.Address()}, Note: mine.append(nil)})
	if err != nil {
		return theirs, card, err
	}
	if theirs, err = decodeHello(card.Note); err != nil {
		return theirs, card, err
	}
	theirs.rights = who
	theirs.node = processID(who.owner, theirs.salt)
	if len(card.Addresses) != 1 || theirs.provider != mine.provider {
		return theirs, card, fmt.Errorf("the peer has %d addresses and the provider %q, this end has %q", len(card.Addresses), theirs.provider, mine.provider)
	}
	return theirs, card, nil
}

// verdicts tells the other end what this one has decided, and hears what it has.
func verdicts(ctx context.Context, s *connect.Session, mine error) error {
	note := "yes"
	if mine != nil {
		note = mine.Error()
	}
	if errors.Is(mine, errCrossed) {
		note = "crossed"
	}
	card, err := s.Swap(ctx, connect.Card{Step: "verdict", Note: []byte(note)})
	switch {
	case mine != nil:
		return mine
	case err != nil:
		return err
	case string(card.Note) == "crossed":
		return errCrossed
	case string(card.Note) != "yes":
		return fmt.Errorf("the peer refuses: %q", card.Note)
	}
	return nil
}

// join connects the ends. What was sent to the peer meanwhile follows.
func (f *office) join(p *peer, l *link.Link, theirs *hello, address verbs.Address) error {
	if f.isClosed {
		return ErrClosed
	}
	other := p // what waits for the process by its ID, if that has become known meanwhile
	if known := f.peers[theirs.node]; known != nil {
		p = known
	}
	if p.link != nil {
		return fmt.Errorf("%s is linked already", process(theirs.node))
	}
	if err := l.Connect(address, theirs.terms); err != nil {
		return err
	}
	f.drop(p) // only its address may have been known
	p.node, p.rights = theirs.node, theirs.rights
	f.know(p)
	p.adopt(l)
	if other != p {
		p.inherit(other)
	}
	return nil
}
