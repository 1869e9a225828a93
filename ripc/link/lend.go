package link

import (
	"fmt"

	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// lending is what one list of a message, loans or returns, has opened to the peer.
type lending struct {
	windows []*verbs.Window // not being taken back yet
	open    int             // of them, and of those being taken back
}

func (l *lending) isBack() bool { return l.open == 0 }

func (l *lending) reset() { l.windows, l.open = l.windows[:0], 0 }

// revocation is a window that is being taken back.
type revocation struct {
	out    *Outgoing
	from   *lending
	window *verbs.Window
}

// lend opens what a message lends to the peer, and puts it into the message. What was opened when something failed is taken
// back again.
func (l *Link) lend(o *Outgoing, m *wire.Message) error {
	expiry := o.Expiry
	if expiry == 0 {
		expiry = DefaultExpiry
	}
	m.Head.Expiry = uint32(max(1, min(expiry.Milliseconds(), 1<<31)))
	o.until = l.hub.config.Loop.Now().Add(expiry + grace(expiry))
	err := l.lendList(&o.loans, o.Loans, verbs.RemoteRead, &m.Loans)
	if err == nil {
		err = l.lendList(&o.returns, o.Returns, verbs.RemoteWrite, &m.Returns)
	}
	if err != nil {
		l.takeBack(&o.loans, nil)
		l.takeBack(&o.returns, nil)
		return err
	}
	if l.lent == nil {
		l.lent = make(map[uint64]*Outgoing)
	}
	l.lent[o.Head.Number] = o
	l.watch()
	return nil
}

func (l *Link) lendList(to *lending, pieces []Piece, access verbs.Access, list *wire.List[wire.Span]) error {
	for i := range pieces {
		w, err := l.unlent()
		if err != nil {
			return err
		}
		remote, err := w.Bind(l.tag(tagWritten), pieces[i].Span, access, verbs.Quiet)
		if err != nil {
			l.spare = append(l.spare, w)
			return err
		}
		to.windows = append(to.windows, w)
		to.open++
		list.Add(wire.Span{Address: remote.Address, Length: remote.Length, Key: remote.Key})
	}
	return nil
}

// unlent returns a window through which nothing is lent.
func (l *Link) unlent() (*verbs.Window, error) {
	if last := len(l.spare) - 1; last >= 0 {
		w := l.spare[last]
		l.spare = l.spare[:last]
		return w, nil
	}
	w, err := l.pair.NewWindow()
	if err != nil {
		return nil, fmt.Errorf("lend memory: %w", err)
	}
	return w, nil
}

// CanLend reports whether one more piece can be lent to the peer by now.
func (l *Link) CanLend() bool {
	w, err := l.unlent()
	if err == nil {
		l.spare = append(l.spare, w)
	}
	return err == nil
}

// takeBack begins to take back what is lent. Who is nil is not told.
func (l *Link) takeBack(from *lending, o *Outgoing) {
	for _, w := range from.windows {
		l.pending = true
		l.revokes.Push(revocation{o, from, w})
	}
	from.windows = from.windows[:0]
	l.pumpRevokes()
}

// pumpRevokes begins what there is room for.
func (l *Link) pumpRevokes() {
	for !l.revokes.Empty() && l.pair.Room() > 0 {
		r := l.revokes.Pop()
		if err := r.window.Revoke(l.tag(tagRevoked), 0); err != nil {
			l.fail(err)
			return
		}
		l.revoking.Push(r)
	}
}

// stepRevoked hears that nothing can land, or be read, through a window any more.
func (l *Link) stepRevoked(c *verbs.Completion) {
	if err := completionError(c); err != nil {
		l.fail(err)
		return
	}
	r := l.revoking.Pop()
	l.spare = append(l.spare, r.window)
	r.from.open--
	if r.out != nil && r.from.isBack() {
		l.settle(r.out, r.from)
	}
	l.pump()
}

// settle goes on when a whole list is back.
func (l *Link) settle(o *Outgoing, which *lending) {
	if which == &o.returns {
		o.deliver()
	}
	if o.loans.isBack() && o.returns.isBack() {
		delete(l.lent, o.Head.Number)
		o.Owner.Returned(o, o.why)
	}
}

// released hears that the peer needs the loans of a message no more. A number that lends nothing may be one that has expired
// meanwhile.
func (l *Link) released(number uint64) {
	if o := l.lent[number]; o != nil {
		l.takeBack(&o.loans, o)
	}
}

// expire takes back what the peer has had for too long.
func (l *Link) expire() {
	now := l.hub.config.Loop.Now()
	for _, o := range l.lent {
		if now < o.until || o.why != nil {
			continue
		}
		o.why = ErrExpired
		l.takeBack(&o.loans, o)
		l.takeBack(&o.returns, o)
	}
}

// cameBack tells the owner that the link has ended, and with it all that was lent.
func (o *Outgoing) cameBack(err error) {
	o.loans, o.returns = lending{}, lending{}
	o.deliver()
	o.Owner.Returned(o, err)
}
