package rdmc

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// buffers is the memory that a group has itself. Registering is what making a group costs most, so it is one piece: arrivals,
// and the desk behind them.
type buffers struct {
	own      *verbs.Memory
	desk     int           // where in own the headers lie: the one that comes, then one for each send
	arrivals *verbs.Memory // for first blocks and messages of one block: own, or without bytes; nil at the root, and with a Store
	size     int           // of an arrival
	idle     []int         // arrivals that are free
	kept     []keptBuffer
}

// keptBuffer is an arrival that the application keeps.
type keptBuffer struct {
	number  uint64 // of the message
	arrival int
}

func (g *Group) openBuffers() (err error) {
	b, c := &g.buffers, &g.config
	receives := c.Self != 0 && c.Store == nil
	if receives {
		b.size, b.idle = c.BlockSize, countDown(nil, c.Arrivals)
	}
	all := b.size * len(b.idle)
	if !c.Phantom {
		b.desk = wholeHeaders(all)
	}
	if b.own, err = g.domain.Alloc(b.desk+headerSize*(1+c.Sends), 0); err != nil || !receives {
		return err
	}
	if b.arrivals = b.own; c.Phantom {
		b.arrivals, err = g.domain.AllocPhantom(uint64(all), 0)
	}
	return err
}

// wholeHeaders rounds up, so that headers are aligned.
func wholeHeaders(n int) int { return (n + headerSize - 1) / headerSize * headerSize }

func (b *buffers) close() error {
	var err error
	if b.arrivals != nil && b.arrivals != b.own {
		err = b.arrivals.Close()
	}
	if b.own != nil {
		err = errors.Join(err, b.own.Close())
	}
	return err
}

func (b *buffers) header(i int) verbs.Span           { return b.own.Span(b.desk+i*headerSize, headerSize) }
func (b *buffers) headerBytes(i int) []byte          { return b.own.Bytes()[b.desk+i*headerSize:][:headerSize] }
func (b *buffers) arrival(i int) Place               { return Place{b.arrivals, uint64(i) * uint64(b.size)} }
func (p Place) span(offset uint64, n int) verbs.Span { return p.Memory.Span(int(p.Offset+offset), n) }

// holds says why a message does not fit where it is to lie.
func (p Place) holds(m Message) error {
	switch {
	case m.Size == 0:
		return nil
	case p.Memory == nil:
		return fmt.Errorf("no memory for %d bytes", m.Size)
	case p.Offset > p.Memory.Len() || m.Size > p.Memory.Len()-p.Offset:
		return fmt.Errorf("%d bytes from offset %d do not fit into memory of %d", m.Size, p.Offset, p.Memory.Len())
	}
	return nil
}

// Provide gives the memory that Incoming gave no Place for. It fails with ErrArgument if no such message waits for
// memory, or if it does not fit.
func (g *Group) Provide(number uint64, place Place) error {
	if g.state.over() {
		return g.refuse("provide", ErrEnded)
	}
	t := g.underWay(number)
	if t == nil || t.placed || g.config.Store != nil {
		return g.config.wrong("provide: message %d does not wait for memory", number)
	}
	if err := g.config.fits(place, t.Message); err != nil {
		return g.config.wrong("provide: %v", err)
	}
	t.place = place
	g.place(t)
	g.wake()
	return nil
}

func (c *Config) fits(place Place, m Message) error {
	if err := place.holds(m); err != nil {
		return err
	}
	if m.Size > 0 && (place.Memory.Bytes() == nil) != c.Phantom {
		return fmt.Errorf("phantom memory, but not Config.Phantom, or the other way round")
	}
	return nil
}

// askForPlace asks Incoming for memory. It may have called Provide, or Close.
func (g *Group) askForPlace(t *transfer) {
	place := g.config.Incoming(t.Message)
	if place.Memory == nil || t.placed || g.state.over() {
		return
	}
	if err := g.config.fits(place, t.Message); err != nil {
		g.fail(g.config.Self, because(ErrMemory, err))
		return
	}
	t.place = place
	g.place(t)
}

// place begins with a message whose place is known. A first block is copied there, once (table 1, Copy Time).
func (g *Group) place(t *transfer) {
	t.placed = true
	block := t.first
	if t.arrival >= 0 && t.place != g.buffers.arrival(t.arrival) {
		if block >= 0 {
			g.buffers.copyTo(t.place, uint64(block)*uint64(t.BlockSize), t.arrival, t.BlockLen(block))
		}
		g.buffers.idle = append(g.buffers.idle, t.arrival)
		t.arrival = -1
	}
	if block >= 0 {
		g.arrived(t, block, verbs.Span{})
	}
}

// copyTo copies n bytes of an arrival. Of phantom memory it copies where they came from.
func (b *buffers) copyTo(place Place, offset uint64, arrival, n int) {
	to, from := int(place.Offset+offset), arrival*b.size
	if b.arrivals.Bytes() != nil {
		copy(place.Memory.Bytes()[to:to+n], b.arrivals.Bytes()[from:from+n])
		return
	}
	origin, _ := b.arrivals.Origin(from, n)
	if err := place.Memory.Mark(to, n, origin); err != nil {
		panic(fmt.Sprintf("rdmc: mark block at %d of %v, which was checked: %v", to, place.Memory, err))
	}
}

// Keep keeps the buffer of a message of one block, beyond the Completed from which it is called, until Release or Closed.
// Messages that do not lie in a buffer of the group's need no Keep.
func (g *Group) Keep(number uint64) {
	if t := g.delivering; t != nil && t.Number == number && t.arrival >= 0 && !t.kept {
		t.kept = true
		g.buffers.kept = append(g.buffers.kept, keptBuffer{number, t.arrival})
	}
}

// Release gives back what Keep kept. While all Config.Arrivals buffers are kept no message comes.
func (g *Group) Release(number uint64) {
	for i, k := range g.buffers.kept {
		if k.number == number {
			g.buffers.kept = append(g.buffers.kept[:i], g.buffers.kept[i+1:]...)
			g.buffers.idle = append(g.buffers.idle, k.arrival)
			g.wake()
			return
		}
	}
}
