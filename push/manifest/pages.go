package manifest

import (
	"bytes"
	"fmt"
)

// slabPages is how many pages are allocated at a time.
const slabPages = 64

// Pages is a table of the pages of one stream that are known to be right. It takes about 40 bytes a block. Not for concurrent use: who
// shares it locks it.
type Pages struct {
	layout   Layout
	verifier *Verifier
	slabs    [][]byte // headers of slabPages pages each; nil: none of them is known
	known    []uint64 // bit by page
}

// NewPages makes an empty table. The pusher, which only Puts, needs no verifier.
func NewPages(l Layout, v *Verifier) *Pages {
	n := l.Pages()
	return &Pages{l, v, make([][]byte, (n+slabPages-1)/slabPages), make([]uint64, (n+63)/64)}
}

// Layout is that of the stream.
func (p *Pages) Layout() Layout { return p.layout }

// Take returns the hash of a block that came with this header. It checks the page's signature, unless it has done so before with the same
// bytes, and keeps it. What it keeps is a copy.
func (p *Pages) Take(block int, header []byte) (Hash, error) {
	kept, ok := p.Header(block)
	if !ok || !bytes.Equal(kept, header) {
		if _, err := p.verifier.OpenPage(p.layout, block, header); err != nil {
			return Hash{}, err
		}
		if ok {
			return Hash{}, fmt.Errorf("%w: the pusher has signed two of number %d", ErrPage, p.layout.Page(block))
		}
		p.Put(p.layout.Page(block), header)
	}
	return hashIn(header, block%p.layout.PageBlocks), nil
}

// Put keeps a page that is known to be right: the pusher's own, or one that was kept on a disk and checked.
func (p *Pages) Put(page int, header []byte) {
	if page < 0 || page >= p.layout.Pages() || len(header) != p.layout.Header() {
		panic(fmt.Sprintf("manifest: a header of %d bytes for page %d of %+v", len(header), page, p.layout))
	}
	if slab := &p.slabs[page/slabPages]; *slab == nil {
		*slab = make([]byte, min(slabPages, p.layout.Pages()-page/slabPages*slabPages)*p.layout.Header())
	}
	copy(p.at(page), header)
	p.known[page/64] |= 1 << (page % 64)
}

// at is the memory of a page in a slab that is there.
func (p *Pages) at(page int) []byte {
	n := p.layout.Header()
	return p.slabs[page/slabPages][page%slabPages*n:][:n:n]
}

// Header is the header of a block, if its page is known. It must not be changed.
func (p *Pages) Header(block int) ([]byte, bool) {
	if !p.layout.has(block) {
		return nil, false
	}
	page := p.layout.Page(block)
	if p.known[page/64]>>(page%64)&1 == 0 {
		return nil, false
	}
	return p.at(page), true
}

// Hash is the hash of a block, if its page is known.
func (p *Pages) Hash(block int) (Hash, bool) {
	header, ok := p.Header(block)
	if !ok {
		return Hash{}, false
	}
	return hashIn(header, block%p.layout.PageBlocks), true
}
