package link

import (
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// Pull fetches what a message of the peer's has lent, into memory of the program's choice (figure 2(a)).
type Pull struct {
	Number uint64       // of the message
	From   []wire.Span  // its loans, or some of them
	Into   []verbs.Span // as many, each as long as its loan
	Until  clock.Time   // when the peer takes them back
	Owner  PullOwner

	next   int    // the loan that is being asked for
	offset uint32 // how much of it was
	open   int    // reads under way
	failed error
	isDone bool
}

// PullOwner is told how a Pull ends: all is there, or it is not known what is.
type PullOwner interface {
	Pulled(p *Pull, err error)
}

const (
	// readSize is how much is read at a time: more would keep short messages waiting behind it, and less would not be taken for
	// much by a NIC that copies.
	readSize = 4 << 20
	// maxReads is how many reads of a link are under way at a time.
	maxReads = 2
)

// Pull begins to fetch. Its owner is told the end, unless there is an error.
func (l *Link) Pull(p *Pull) error {
	if l.state == ended {
		return fmt.Errorf("pull: the link is %w", ErrClosed)
	}
	if p.Owner == nil || len(p.From) == 0 || len(p.From) != len(p.Into) {
		return fmt.Errorf("pull %d loans into %d pieces: %w", len(p.From), len(p.Into), ErrArgument)
	}
	for i := range p.From {
		if p.From[i].Length != uint64(p.Into[i].Length) {
			return fmt.Errorf("pull a loan of %d bytes into %d: %w", p.From[i].Length, p.Into[i].Length, ErrArgument)
		}
	}
	l.pending = true
	l.pulls.Push(p)
	l.pumpPulls()
	return nil
}

// Release lets the peer have the loans of a message back.
func (l *Link) Release(number uint64) {
	if l.state != ended {
		l.releases.Push(number)
		l.owe()
	}
}

// pumpPulls asks for what there is room for.
func (l *Link) pumpPulls() {
	for l.state == ready && !l.pulls.Empty() && l.reading.Len() < maxReads && l.pair.Room() > 1 {
		p := l.pulls.Front()
		if l.hub.config.Loop.Now() >= p.Until {
			p.failed = fmt.Errorf("%w: the peer lent it until now", ErrExpired)
		}
		if p.failed != nil || p.next == len(p.From) {
			l.pulls.Pop()
			l.finishPull(p)
			continue
		}
		if err := l.read(p); err != nil {
			l.fail(err)
			return
		}
	}
}

// read asks for the next part of a pull.
func (l *Link) read(p *Pull) error {
	from, into := p.From[p.next], p.Into[p.next]
	n := min(into.Length-p.offset, readSize)
	remote := verbs.RemoteSpan{Address: from.Address, Length: from.Length, Key: from.Key}.Sub(uint64(p.offset), uint64(n))
	if err := l.pair.Read(l.tag(tagPulled), into.Sub(p.offset, n), remote, 0); err != nil {
		return err
	}
	p.open++
	l.reading.Push(p)
	l.watch()
	if p.offset += n; p.offset == into.Length {
		p.next, p.offset = p.next+1, 0
	}
	if p.next == len(p.From) {
		l.pulls.Pop()
	}
	return nil
}

func (l *Link) stepPulled(c *verbs.Completion) {
	if err := completionError(c); err != nil {
		l.fail(err)
		return
	}
	l.hub.counts.Pulled += uint64(c.Bytes)
	p := l.reading.Pop()
	p.open--
	if p.next == len(p.From) {
		l.finishPull(p)
	}
	l.pump()
}

// finishPull tells the owner when the last read has ended, and the peer that it may have its memory back.
func (l *Link) finishPull(p *Pull) {
	if p.open == 0 && !p.isDone {
		l.Release(p.Number)
		p.finish(p.failed)
	}
}

func (p *Pull) finish(err error) {
	if !p.isDone {
		p.isDone = true
		p.Owner.Pulled(p, err)
	}
}
