package ripc

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/connect"
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
		_ = n.shared.Do(func() { p.dialled(err) }) // after Close nobody waits
	})
}

// dialled hears how it went. If the other's meeting counts, that one brings the link, or has brought it.
func (p *peer) dialled(err error) {
	p.dials = false
	if err != nil && !errors.Is(err, errCrossed) && p.link == nil {
		p.fail(err)
	}
}

// runDial tries the addresses of a process in turn.
func (n *Node) runDial(at []string, node ID, p *peer) (err error) {
	for _, address := range at {
		var s *connect.Session
		if s, err = connect.Dial(n.ctx, address, n.options()); err != nil {
			continue
		}
		err = n.meet(s, func(h *hello) (*peer, error) { return p, p.expects(node, h) })
		if err == nil || errors.Is(err, errCrossed) || n.ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("no link to process %v: %w", node, err)
}

// expects says whether the process that was dialled is the one that was meant: another one may listen there by now.
func (p *peer) expects(node ID, h *hello) error {
	if node != (ID{}) && h.node != node {
		return fmt.Errorf("process %v is there instead", h.node)
	}
	return nil
}

// runAccept greets whoever dials, each in a goroutine of its own, until the listener is closed.
func (n *Node) runAccept(l *connect.Listener) {
	for {
		s, err := l.Accept(n.ctx)
		if err != nil {
			return
		}
		n.runs.Go(func() {
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
	case p == nil:
		p = &peer{office: f, node: h.node}
		f.know(p)
	case p.link != nil:
		return nil, fmt.Errorf("process %v is linked already", h.node)
	case p.dials && lower(f.node.id, h.node):
		return nil, errCrossed
	}
	return p, nil
}

func lower(a, b ID) bool { return string(a[:]) < string(b[:]) }

// meet links this process with the one at the other end of a session. decide says, on the loop, with whom, or why not; both ends
// hear what the other has decided.
func (n *Node) meet(s *connect.Session, decide func(*hello) (*peer, error)) error {
	defer func() { _ = s.Close() }() // it has done its work
	ctx, cancel := context.WithTimeout(n.ctx, linkTimeout)
	defer cancel()
	var l *link.Link
	var mine hello
	var err error
	if failed := n.shared.Do(func() { l, mine, err = n.office.newEnd() }); failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	linked := false
	defer func() {
		if !linked {
			_ = n.shared.Do(l.Close) // after Close it is gone
		}
	}()
	theirs, card, err := n.greet(ctx, s, mine, l)
	if err != nil {
		return err
	}
	var p *peer
	if failed := n.shared.Do(func() { p, err = decide(&theirs) }); failed != nil {
		return failed
	}
	if err := verdicts(ctx, s, err); err != nil {
		return err
	}
	failed := n.shared.Do(func() { err = n.office.join(p, l, &theirs, card.Addresses[0]) })
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
	return l, hello{node: f.node.id, provider: f.node.config.Device.Limits().Provider, terms: l.Terms()}, nil
}

// greet swaps the hellos, and the addresses of the queue pairs.
func (n *Node) greet(ctx context.Context, s *connect.Session, mine hello, l *link.Link) (theirs hello, card connect.Card, err error) {
	card, err = s.Swap(ctx, connect.Card{Step: "ripc", Addresses: []verbs.Address{l.Address()}, Note: mine.append(nil)})
	if err != nil {
		return theirs, card, err
	}
	if theirs, err = decodeHello(card.Note); err != nil {
		return theirs, card, err
	}
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
	if p.link != nil {
		return fmt.Errorf("process %v is linked already", theirs.node)
	}
	if err := l.Connect(address, theirs.terms); err != nil {
		return err
	}
	if p.node != theirs.node { // only its address was known
		f.drop(p)
		p.node = theirs.node
	}
	f.peers[p.node] = p
	p.adopt(l)
	return nil
}
