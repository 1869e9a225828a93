// Package fifo is a queue: first in, first out.
package fifo

// Queue is a queue that keeps its memory. The zero value is empty.
type Queue[T any] struct {
	list []T
	head int
}

// Empty reports whether there is nothing in it.
func (q *Queue[T]) Empty() bool { return q.head == len(q.list) }

// Len is how many there are.
func (q *Queue[T]) Len() int { return len(q.list) - q.head }

// Front is the one that has been there longest. There must be one.
func (q *Queue[T]) Front() T { return q.list[q.head] }

// Push adds one.
func (q *Queue[T]) Push(one T) {
	if q.head > 0 && len(q.list) == cap(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, one)
}

// Pop takes out the one that has been there longest. There must be one.
func (q *Queue[T]) Pop() T {
	one := q.list[q.head]
	var none T
	q.list[q.head] = none
	q.head++
	if q.Empty() {
		q.list, q.head = q.list[:0], 0
	}
	return one
}

// Change lets change look at them in turn until it reports that it has changed one, and reports whether it has.
func (q *Queue[T]) Change(change func(*T) bool) bool {
	for i := q.head; i < len(q.list); i++ {
		if change(&q.list[i]) {
			return true
		}
	}
	return false
}

// Remove takes out the first that fits, and reports whether there was one.
func (q *Queue[T]) Remove(fits func(T) bool) bool {
	for i := q.head; i < len(q.list); i++ {
		if fits(q.list[i]) {
			last := len(q.list) - 1
			copy(q.list[i:], q.list[i+1:])
			var none T
			q.list[last] = none
			q.list = q.list[:last]
			return true
		}
	}
	return false
}

// Drain takes out all.
func (q *Queue[T]) Drain() []T {
	all := q.list[q.head:]
	*q = Queue[T]{}
	return all
}
