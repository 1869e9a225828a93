package rdmc

import (
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// MaxQueued is how many messages can wait to be sent.
const MaxQueued = 64

// Group is one member's end of a group.
type Group struct {
	config Config
	part   *schedule.Part
	port   loop.Port
	domain *verbs.Domain
}

// New makes one member's end of a group: its queue pairs and buffers. It is ready when all Peers are connected.
func New(l *loop.Loop, domain *verbs.Domain, config Config) (*Group, error) {
	return nil, ErrNotReady
}

// CompletionRoom is how many completions such a group reserves in its loop's queue.
func CompletionRoom(config Config) (int, error) { return 0, ErrNotReady }

// Step implements loop.Machine.
func (g *Group) Step(c *verbs.Completion) {}

// Peers are the ranks of the members that this one must be connected with.
func (g *Group) Peers() []int { return nil }

// Addresses are those of the queue pairs for a peer, to be given to it.
func (g *Group) Addresses(peer int) []verbs.Address { return nil }

// Connect connects with a peer, by what its Addresses said for this member. It ends as Config.Ready when all are
// connected, or as Config.Failed, which names the member.
func (g *Group) Connect(peer int, theirs []verbs.Address) error { return ErrNotReady }

// Description encodes all that must be the same at all members.
func (g *Group) Description() []byte { return nil }

// Agrees compares a peer's Description with ours. The error says what differs, and names the peer.
func (g *Group) Agrees(peer int, description []byte) error { return nil }

// Send sends size bytes, which lie at place, or are in the Store if there is one, to all members. Only the root can. The
// bytes must stay as they are until Completed.
func (g *Group) Send(place Place, size uint64) (Message, error) { return Message{}, ErrNotReady }

// Provide gives the memory that Incoming gave no Place for.
func (g *Group) Provide(number uint64, place Place) error { return ErrNotReady }

// Accept lets a block pass the gate.
func (g *Group) Accept(number uint64, block int) error { return ErrNotReady }

// Reject ends the group, and names the sender of the block.
func (g *Group) Reject(number uint64, block int, why error) error { return ErrNotReady }

// Continue tells that the Store has memory again.
func (g *Group) Continue() {}

// Keep keeps the buffer of a message of one block, beyond the Completed from which it is called, until Release.
func (g *Group) Keep(number uint64) {}

// Release gives back what Keep kept.
func (g *Group) Release(number uint64) {}

// Holdings are, after a failure, the messages that are not complete here, and which of their blocks are.
func (g *Group) Holdings() []Holding { return nil }

// Progress is how many blocks of the message under way are here, if there is one.
func (g *Group) Progress() (m Message, have int, active bool) { return Message{}, 0, false }

// Close says goodbye, then frees everything, and ends as Config.Closed. It is needed after a failure too.
func (g *Group) Close() error { return nil }

// Discard frees everything at once, without a word: for programs whose loop no longer runs.
func (g *Group) Discard() {}
