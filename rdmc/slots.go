package rdmc

import (
	"github.com/weft-fabric/weft/verbs"
)

// incoming is a receive for data that is posted.
type incoming struct {
	link     *link
	transfer *transfer // nil: the first block of the next message, or its header alone
	block    int
	at       verbs.Span // for the whole block: from the Store, it may be longer than the block
	count    uint64     // it is for the count-th message on the link
}

// outgoing is a block, or a header, on its way.
type outgoing struct {
	link     *link
	transfer *transfer
	block    int        // -1: a header alone
	at       verbs.Span // where the Store loaded the block
	loaded   bool
}

// openSlots makes room for what can be under way. A slot is used by one receive, or send, at a time.
func (g *Group) openSlots() {
	g.incoming = make([]incoming, g.config.Credits+1)
	g.outgoing = make([]outgoing, g.config.Sends)
	g.idleIn = countDown(g.room.idleIn[:0], len(g.incoming))
	g.idleOut = countDown(g.room.idleOut[:0], len(g.outgoing))
	g.creditors, g.active = g.room.creditors[:0], append(g.room.active[:0], g.active...)
}

// countDown adds all numbers below n to a list.
func countDown(list []int, n int) []int {
	for i := range n {
		list = append(list, n-1-i)
	}
	return list
}

// pop takes the last of a list.
func pop(list *[]int) int {
	last := len(*list) - 1
	value := (*list)[last]
	*list = (*list)[:last]
	return value
}
