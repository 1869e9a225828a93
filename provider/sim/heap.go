package sim

// heap is one with four children to a parent: half as deep as a binary one, and the children share cache lines.
type heap []event

// push adds an event. It moves a hole up from the end until e fits.
func (q *heap) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*q = h
}

// pop takes the first event of a heap that is not empty.
func (q *heap) pop() event {
	h := *q
	top := h[0]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	if len(h) > 0 {
		h.sink(last)
	}
	*q = h
	return top
}

// sink puts e, which replaces the top, where it belongs.
func (q heap) sink(e event) {
	i := 0
	for c := q.child(i); c > 0 && q[c].before(&e); c = q.child(i) {
		q[i] = q[c]
		i = c
	}
	q[i] = e
}

// child returns the first of the children of i, or 0 if it has none.
func (q heap) child(i int) int {
	first := 4*i + 1
	if first >= len(q) {
		return 0
	}
	least := first
	for c := first + 1; c < min(first+4, len(q)); c++ {
		if q[c].before(&q[least]) {
			least = c
		}
	}
	return least
}
