package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/ripc"
)

// maxCall bounds how many bytes are read from standard input, so that they fit into memory.
const maxCall = 1 << 30

// parcel is some bytes to be sent, or an answer: few ones, or a buffer that is lent, so that much lies in memory once.
type parcel struct {
	size   int
	short  []byte       // never nil if it is the one: that would be null as JSON
	buffer *ripc.Buffer // nil: they are short
}

// roomFor is how much room to begin with: all that it takes, if that is known, but no more than for most bytes. It doubles when it is full.
func roomFor(in io.Reader, most int) int {
	const atLeast = 64 << 10
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return max(atLeast, int(min(info.Size(), int64(most)))+1) // one more, to see that it ends there
		}
	}
	return atLeast
}

// readParcel reads all that there is, up to most bytes, to where it can be lent from.
func readParcel(n *ripc.Node, in io.Reader, most int) (p *parcel, err error) {
	p = &parcel{}
	if p.buffer, err = n.Alloc(roomFor(in, most)); err != nil {
		return nil, err
	}
	for err == nil {
		var more int
		switch {
		case p.size > most:
			err = fmt.Errorf("it has more than %v: send it in parts, or lend it by the library", units.Size(most))
		case p.size == p.buffer.Len():
			err = p.grow(n, min(2*p.size, most+1))
		default:
			more, err = in.Read(p.buffer.Bytes()[p.size:])
			p.size += more
		}
	}
	if !errors.Is(err, io.EOF) {
		p.release()
		return nil, err
	}
	p.settle(n)
	return p, nil
}

// grow makes room for so many bytes.
func (p *parcel) grow(n *ripc.Node, room int) error {
	larger, err := n.Alloc(room)
	if err != nil {
		return err
	}
	copy(larger.Bytes(), p.buffer.Bytes())
	p.buffer.Release()
	p.buffer = larger
	return nil
}

// settle makes it a short one, if it fits.
func (p *parcel) settle(n *ripc.Node) {
	if p.size > n.ShortLimit() {
		p.buffer.Cut(p.size)
		return
	}
	p.short = append([]byte{}, p.buffer.Bytes()[:p.size]...)
	p.buffer.Release()
	p.buffer = nil
}

// call sends it to a service, once, and returns the answer.
func (p *parcel) call(ctx context.Context, n *ripc.Node, name string) (*parcel, error) {
	r := ripc.Request{To: ripc.Name(name), Items: [][]byte{p.short}}
	if p.buffer != nil {
		r.Items, r.Lend = nil, []*ripc.Buffer{p.buffer}
	}
	m, err := n.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	return receiveParcel(ctx, m)
}

// receiveParcel is what a message brings: its items, and behind them what it lends.
func receiveParcel(ctx context.Context, m *ripc.Message) (*parcel, error) {
	defer m.Release()
	var list []*ripc.Buffer
	if len(m.Lent()) > 0 {
		var err error
		if list, err = m.Pull(ctx); err != nil {
			return nil, err
		}
	}
	if len(m.Items()) == 0 && len(list) == 1 {
		return &parcel{size: list[0].Len(), buffer: list[0]}, nil
	}
	p := &parcel{short: append([]byte{}, bytes.Join(m.Items(), nil)...)}
	for _, b := range list {
		p.short = append(p.short, b.Bytes()...)
		b.Release()
	}
	p.size = len(p.short)
	return p, nil
}

func (p *parcel) bytes() []byte {
	if p.buffer != nil {
		return p.buffer.Bytes()
	}
	return p.short
}

func (p *parcel) release() {
	if p.buffer != nil {
		p.buffer.Release()
	}
}
