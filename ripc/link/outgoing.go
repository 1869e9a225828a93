package link

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// Piece is some bytes of the program's. Span names them if they lie in memory of the hub's domain; bytes elsewhere have the
// zero Span, and are copied.
type Piece struct {
	Bytes []byte
	Span  verbs.Span
}

func (p *Piece) isRegistered() bool { return p.Span.Length > 0 }

// isLarge reports whether the piece is worth being gathered from where it is. Below a cache line or two, copying is cheaper.
func (p *Piece) isLarge() bool { return p.Span.Length >= 256 }

// Fill is a piece that an answer puts into a return of its request's, or a Send on a line into a return that came before.
type Fill struct {
	Return int       // its place in the list of that message
	Into   wire.Span // as the request named it
	Piece  Piece     // in registered memory
}

// Outgoing is a message on its way. It belongs to the link from Send until its owner has been told its end: that it was
// sent, and that it was answered if it is a Call, and that nothing is lent any more if it lends.
type Outgoing struct {
	Head    wire.Head // Type, Code, From, To and Epoch; of a Call also Patience; of an Answer or a Refusal also Number. The rest is the link's
	Items   []Piece
	Loans   []Piece       // what the peer may read; in registered memory
	Returns []Piece       // what the peer may write its answer to; of a Call, or of a Send on a line, in registered memory
	Fills   []Fill        // of an Answer, or of a Send on a line
	Until   clock.Time    // of Fills: when the peer may take its returns back; one that waits until then is told so, and is a LateOwner's. 0: never
	Expiry  time.Duration // how long the peer may use what is lent; 0: DefaultExpiry
	Credit  bool          // a Refusal of a Send: nobody has kept a receive for it
	Confirm bool          // of a Send: Sent is told when the peer has handed it to the service, or has refused it
	Owner   Owner

	bytes     int // as check has found
	loans     lending
	returns   lending
	until     clock.Time // when what is lent is taken back
	why       error      // it was taken back because of this
	isPosted  bool
	isSent    bool
	answer    *Slot // has come, and waits for isSent and for the returns
	abandoned bool  // the owner does not want to hear any more
}

// Owner is told how an Outgoing ends. It is called from inside a Step, and must not wait.
type Owner interface {
	// Sent: the items are the program's again. The error says that it was not sent, that nobody knows, or, if it was to be
	// confirmed, that it was refused: a *RefusedError.
	Sent(o *Outgoing, err error)
	// Answered: a Call that was sent has its answer, or a Refusal, in s, which is the owner's until it releases it. With an
	// error there is none, and s is nil.
	Answered(o *Outgoing, s *Slot, err error)
	// Returned: nothing of what the message has lent is in the peer's reach any more. The error says that it had not released it.
	Returned(o *Outgoing, err error)
}

// LateOwner is the Owner of a message with Fills that has to be sent before a time.
type LateOwner interface {
	Owner
	// Late: the message has waited for too long, and its turn has come. It is sent as the owner leaves it: without Fills. Whoever wants to
	// use the link here takes those away first.
	Late(o *Outgoing)
}

// DefaultExpiry is how long a peer may use what a message lends.
const DefaultExpiry = time.Minute

// grace is how much later it is taken back than the peer was told, so that one who is in time is not cut off.
func grace(expiry time.Duration) time.Duration { return max(time.Second, expiry/4) }

// Reset makes o ready to be sent once more, elsewhere. Nothing of it may be under way.
func (o *Outgoing) Reset() {
	o.until, o.why, o.answer = 0, nil, nil
	o.isPosted, o.isSent, o.abandoned = false, false, false
	o.loans.reset()
	o.returns.reset()
}

// isShort reports whether items are all that it has, as most messages.
func (o *Outgoing) isShort() bool { return len(o.Loans)|len(o.Returns)|len(o.Fills) == 0 }

func (o *Outgoing) lends() bool { return len(o.Loans)+len(o.Returns) > 0 }

// requests is how many requests it takes to send it.
func (o *Outgoing) requests() int { return len(o.Loans) + len(o.Returns) + len(o.Fills) + 1 }

// needsCredit reports whether the peer has kept no receive for it.
func (o *Outgoing) needsCredit() bool {
	return o.Head.Type == wire.Send || o.Head.Type == wire.Call || o.Credit
}

// isForService reports whether it is a message to a service, or on a line, and no answer to one.
func (o *Outgoing) isForService() bool { return o.Head.Type == wire.Send || o.Head.Type == wire.Call }

// refusesSend reports whether it is the refusal of a Send. Who calls waits for a refusal anyway.
func (o *Outgoing) refusesSend() bool { return o.Head.Type == wire.Refusal && o.Credit }

// check finds what is wrong with a message before it is queued. limit is how many bytes the peer takes.
func (o *Outgoing) check(limit int) error {
	if o.Owner == nil || o.Head.Type == wire.Word || o.Expiry < 0 {
		return fmt.Errorf("a %v without an owner, or with a negative expiry: %w", o.Head.Type, ErrArgument)
	}
	if n := max(len(o.Items), len(o.Loans), len(o.Returns), len(o.Fills)); n > wire.MaxList {
		return fmt.Errorf("%d items, loans, returns or fills, at most %d of each: %w", n, wire.MaxList, ErrArgument)
	}
	if !o.isShort() {
		if err := o.checkLists(); err != nil {
			return err
		}
	}
	if o.bytes = o.size(); o.bytes > limit {
		return fmt.Errorf("%w: %d bytes with head and lists, of at most %d; lend it instead, by Request.Lend or Reply.Lend", ErrTooLarge, o.bytes, limit)
	}
	return nil
}

// checkLists finds what is wrong with what a message lends and fills.
func (o *Outgoing) checkLists() error {
	for _, list := range [][]Piece{o.Loans, o.Returns} {
		for i := range list {
			if !list[i].isRegistered() {
				return fmt.Errorf("what is lent does not lie in registered memory, or is empty: %w", ErrArgument)
			}
		}
	}
	for i := range o.Fills {
		if f := &o.Fills[i]; f.Piece.Span.Length > 0 && uint64(f.Piece.Span.Length) > f.Into.Length {
			return fmt.Errorf("%d bytes do not fit into a return of %d: %w", f.Piece.Span.Length, f.Into.Length, ErrArgument)
		}
	}
	return nil
}

// size is how many bytes the message will have, with as many releases as it may carry.
func (o *Outgoing) size() int {
	m := wire.Overhead(len(o.Items), len(o.Loans)+len(o.Returns), len(o.Fills))
	for i := range o.Items {
		m += len(o.Items[i].Bytes)
	}
	return m
}
