package perftest

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-fabric/weft/verbs"
)

// wordBytes is the size of a word, and of an atomic.
const wordBytes = 8

// pair is one queue pair with its two slots of memory.
type pair struct {
	number int       // among all of the side; the peer's of the same number is connected to it
	tag    verbs.Tag // its index at its worker
	queue  *verbs.QueuePair
	memory *verbs.Memory
	slot   int              // bytes
	lot    int              // receives that are posted again at a time
	owed   int              // receives that were taken and not posted again, below lot
	inAt   int              // offset of the slot for incoming messages
	outAt  int              // offset of the slot for outgoing messages
	remote verbs.RemoteSpan // the peer's slot for incoming messages

	// Of the present run.
	source   verbs.Span       // or destination, of a Read
	target   verbs.RemoteSpan // of one-sided operations
	lastByte int              // offset in memory of the last byte of an incoming message
	ownLast  int              // offset in memory of the last byte of an outgoing message
	posted   uint64           // requests, without farewells
	quiet    int              // requests posted since the last that will be reported
	rounds   byte             // ping-pongs begun, as the last byte of a message says it
	received uint64           // messages
}

// place is where in a slot a message of a run lies. A Write's ends with a word, so that Load64 shows its last byte.
func place(r Run) int {
	if r.Operation != Write {
		return 0
	}
	return int((wordBytes - r.Size%wordBytes) % wordBytes)
}

// prepare sets the pair up for a run.
func (p *pair) prepare(r Run) {
	at, size := place(r), int(r.Size)
	p.source = p.memory.Span(p.outAt+at, size)
	p.target = p.remote.Sub(uint64(at), uint64(size))
	p.lastByte, p.ownLast = p.inAt+at+size-1, p.outAt+at+size-1
	p.posted, p.quiet, p.rounds, p.received = 0, 0, 0, 0
}

// in and out are the bytes of a run's message.
func (p *pair) in(r Run) []byte  { return p.memory.Bytes()[p.inAt+place(r):][:r.Size] }
func (p *pair) out(r Run) []byte { return p.memory.Bytes()[p.outAt+place(r):][:r.Size] }

// receive stages a receive for one message.
func (p *pair) receive() error { return p.queue.Receive(p.tag, p.memory.Span(p.inAt, p.slot)) }

// receiveAgain stages receives for those that were taken, several at a time: one doorbell each would be on the way of every
// answer. Some are always left, as lot is less than the depth.
func (p *pair) receiveAgain() error {
	if p.owed++; p.owed < p.lot {
		return nil
	}
	for ; p.owed > 0; p.owed-- {
		if err := p.receive(); err != nil {
			return err
		}
	}
	return nil
}

// mark puts the number of the ping-pong at the end of the outgoing message.
func (p *pair) mark() {
	p.rounds++
	p.memory.Bytes()[p.ownLast] = p.rounds
}

// sees reports whether the incoming message ends with the number of a ping-pong.
func (p *pair) sees(round byte) bool {
	var word [wordBytes]byte
	binary.NativeEndian.PutUint64(word[:], p.memory.Load64(p.lastByte&^(wordBytes-1)))
	return word[wordBytes-1] == round
}

// fill writes bytes that no other pair or run has.
func fill(b []byte, seed uint64) {
	for len(b) >= wordBytes {
		binary.LittleEndian.PutUint64(b, seed)
		seed = scramble(seed)
		b = b[wordBytes:]
	}
	for i := range b {
		b[i] = byte(seed >> (8 * i))
	}
}

// compare says where b is not what fill writes.
func compare(b []byte, seed uint64) error {
	var want [wordBytes]byte
	for at := 0; at < len(b); at += wordBytes {
		binary.LittleEndian.PutUint64(want[:], seed)
		seed = scramble(seed)
		n := min(wordBytes, len(b)-at)
		if got := b[at : at+n]; string(got) != string(want[:n]) {
			return fmt.Errorf("bytes %d to %d of %d are %x, not %x", at, at+n-1, len(b), got, want[:n])
		}
	}
	return nil
}

// scramble is a step of a generator with a full period.
func scramble(x uint64) uint64 { return x*6364136223846793005 + 1442695040888963407 }

// seed is where the bytes of a pair begin in the run of the given index.
func seed(run, pair int) uint64 { return scramble(uint64(run+1)<<32 | uint64(pair+1)) }
