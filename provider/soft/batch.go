package soft

// batch is what goes to, or comes from, a socket in one system call: pieces of memory and, when writing, the frames that
// they make up. Headers and short payloads lie in its own memory; long ones stay where they are.
type batch struct {
	pieces [64]iovec
	count  int
	size   int

	text   [16 << 10]byte
	used   int
	frames [128]frame
	framed int
}

// shortPayload is up to how many bytes are copied behind their header: cheaper than a piece of their own.
const shortPayload = 256

// frame is one frame, or the rest of one, in a batch.
type frame struct {
	from   origin
	op     frameOp
	ack    uint32
	front  int    // bytes in text: the header, or what is left of it, and a short payload
	bulk   int    // bytes behind them in this batch
	length uint32 // bytes of bulk that the frame has to come, these included
}

// origin is where a frame comes from.
type origin uint8

const (
	fromNobody  origin = iota // it stands for itself
	fromRequest               // of this end
	fromAnswer                // to one of the peer's
)

func (b *batch) reset() { b.count, b.size, b.used, b.framed = 0, 0, 0, 0 }

func (b *batch) iovecs() []iovec { return b.pieces[:b.count] }

// cut leaves the first n bytes to be written. The frames stay: what is not written of them is kept.
func (b *batch) cut(n int) {
	if n >= b.size {
		return
	}
	b.size = n
	for i := range b.pieces[:b.count] {
		if p := &b.pieces[i]; n <= int(p.length) {
			p.length, b.count = uint64(n), i+1
			return
		}
		n -= int(b.pieces[i].length)
	}
}

// isOnlyWords reports whether there is nothing in it of a request, or of an answer to one.
func (b *batch) isOnlyWords() bool {
	for i := range b.frames[:b.framed] {
		if b.frames[i].from != fromNobody {
			return false
		}
	}
	return true
}

// add appends a piece, and returns its length.
func (b *batch) add(piece []byte) int {
	b.pieces[b.count] = iovecOf(piece)
	b.count++
	b.size += len(piece)
	return len(piece)
}

// addPieces appends up to n of the next bytes of p, as many as there are places for, and says how many.
func (b *batch) addPieces(p *pieces, n uint64) (added int) {
	for n > 0 && b.count < len(b.pieces)-1 {
		piece := p.next(n)
		if len(piece) == 0 {
			break // there is no more
		}
		b.add(piece)
		p.skip(uint64(len(piece)))
		n -= uint64(len(piece))
		added += len(piece)
	}
	return added
}

// write returns n bytes of the batch's own memory, which come next.
func (b *batch) write(n int) []byte {
	text := b.text[b.used:][:n]
	piece := iovecOf(text)
	if last := b.count - 1; last >= 0 && b.pieces[last].base+uintptr(b.pieces[last].length) == piece.base {
		b.pieces[last].length += uint64(n)
	} else {
		b.pieces[b.count] = piece
		b.count++
	}
	b.used += n
	b.size += n
	return text
}

// hasRoom reports whether one more frame fits, with a bulk of as many pieces as there can be.
func (b *batch) hasRoom() bool {
	return b.used+headerSize+shortPayload <= len(b.text) && b.count+maxSpans+2 < len(b.pieces) &&
		b.framed < len(b.frames) && b.size < quantum
}

// begin adds a frame.
func (b *batch) begin(f frame) *frame {
	b.frames[b.framed] = f
	b.framed++
	return &b.frames[b.framed-1]
}
