package manifest

import "fmt"

// Measures of pages.
const (
	minPageBlocks = 4
	maxPageBlocks = 16
	pagePayload   = 256 << 10 // bytes that are worth a signature: to check one takes as long as to hash these
	maxPageBytes  = 16 << 20  // of payload: the pusher reads so much before it sends
	pagePrefix    = 24        // see page.go
	hashBytes     = len(Hash{})
	sealBytes     = 64 // of an ed25519 signature
)

// Layout is how a stream is cut into blocks, and these into pages. What goes on the wire is a header, which is the sealed page that the
// block belongs to, and the block's payload. A stream of no bytes has one block without payload.
type Layout struct {
	Stream     Stream
	Size       uint64 // bytes
	Block      int    // bytes of a block's payload; the last may have less
	PageBlocks int    // blocks of a page; the last may have less
}

// NewLayout cuts a stream of size bytes into blocks with a payload of block bytes. Who has the numbers from elsewhere checks them before:
// it panics if block is not positive, or if size is greater than MaxSize.
func NewLayout(stream Stream, size uint64, block int) Layout {
	if block <= 0 || size > MaxSize {
		panic(fmt.Sprintf("manifest: a stream of %d bytes in blocks of %d", size, block))
	}
	return Layout{stream, size, block, pageBlocks(block)}
}

// pageBlocks is how many blocks have a page in common, which goes with each of them: few, because of large pages a slow link feels the hashes of others; of
// small blocks more, because every page has a signature.
func pageBlocks(block int) int {
	return min(min(max(pagePayload/block, minPageBlocks), maxPageBlocks), max(maxPageBytes/block, 1))
}

// Blocks is how many blocks there are: at least one.
func (l Layout) Blocks() int { return max(int((l.Size+uint64(l.Block)-1)/uint64(l.Block)), 1) }

// Header is how many bytes stand before the payload of each block.
func (l Layout) Header() int { return pagePrefix + hashBytes*l.PageBlocks + sealBytes }

// Wire is how many bytes a block that is not the last has on the wire.
func (l Layout) Wire() int { return l.Header() + l.Block }

// WireSize is how many bytes all blocks have on the wire.
func (l Layout) WireSize() uint64 { return l.Size + uint64(l.Blocks())*uint64(l.Header()) }

// Offset is where a block's payload begins in the stream.
func (l Layout) Offset(block int) uint64 { return uint64(block) * uint64(l.Block) }

// Len is how many bytes of payload a block has.
func (l Layout) Len(block int) int {
	offset := l.Offset(block)
	if offset >= l.Size {
		return 0
	}
	return int(min(uint64(l.Block), l.Size-offset))
}

// Page is the page of a block.
func (l Layout) Page(block int) int { return block / l.PageBlocks }

// Pages is how many pages there are: at least one.
func (l Layout) Pages() int { return l.Page(l.Blocks()-1) + 1 }

// PageRange is which blocks a page has: from first up to, not including, end.
func (l Layout) PageRange(page int) (first, end int) {
	first = page * l.PageBlocks
	return first, min(first+l.PageBlocks, l.Blocks())
}

// has reports whether there is a block of that number.
func (l Layout) has(block int) bool { return block >= 0 && block < l.Blocks() }
