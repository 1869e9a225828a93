package soft

import "github.com/weft-fabric/weft/verbs/driver"

// answer is what the peer is still to be told about one of its requests.
type answer struct {
	op       frameOp
	status   driver.Status // frameNak
	sequence uint32        // of the request: everything before it is done
	total    uint64        // frameRead: bytes
	address  uint64
	target   target
	old      uint64 // frameAtomic
}

// answers is a ring of answers in the order of the requests. It grows by doubling to what the peer may have under way.
type answers struct {
	items []answer
	head  int
	count int
	moved uint64 // bytes of the oldest, of a Read, that were written
}

func (a *answers) at(i int) *answer { return &a.items[(a.head+i)%len(a.items)] }

func (a *answers) pop() {
	*a.at(0) = answer{} // the ring must not keep the target
	a.head = (a.head + 1) % len(a.items)
	a.count--
	a.moved = 0
}

// push adds one, to be filled in. There must be less than limit.
func (a *answers) push(limit int) *answer {
	if a.count == len(a.items) {
		longer := make([]answer, min(max(2*len(a.items), 4), limit))
		n := copy(longer, a.items[a.head:])
		copy(longer[n:], a.items[:a.head])
		a.items, a.head = longer, 0
	}
	a.count++
	return a.at(a.count - 1)
}

// cut forgets all but the first n.
func (a *answers) cut(n int) {
	for ; a.count > n; a.count-- {
		*a.at(a.count - 1) = answer{}
	}
}
