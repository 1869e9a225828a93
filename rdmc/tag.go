package rdmc

// A tag is kind (4 bits) · link (20 bits) · slot (24 bits), and leads from a completion straight to what was posted.
type tag uint64

type tagKind uint8

const (
	tagArrival  tagKind = iota // a receive for data; slot: of incoming
	tagSent                    // a block, or a header, was sent; slot: of outgoing
	tagHeard                   // a word came
	tagSaid                    // a word was taken
	tagLastWord                // the last word was taken
	tagConnect                 // a queue pair is connected

	timerPump  // something was asked for from outside a Step
	timerCount // count on what a Store will be asked for
	timerPace  // the next block may go
	timerStall // look whether those that we wait for are alive
	timerBroke // a data pair broke, and nobody has said why
	timerEnd   // last words were not taken in time
	timerOver  // nothing touches memory any more
	timerFree
)

func makeTag(kind tagKind, link, slot int) uint64 {
	return uint64(kind)<<44 | uint64(link)<<24 | uint64(slot)
}

func (t tag) kind() tagKind { return tagKind(t >> 44) }
func (t tag) link() int     { return int(t>>24) & (1<<20 - 1) }
func (t tag) slot() int     { return int(t) & (1<<24 - 1) }
