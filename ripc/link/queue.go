package link

// queue is first in, first out. It keeps its memory.
type queue[T any] struct {
	list []T
	head int
}

func (q *queue[T]) empty() bool { return q.head == len(q.list) }

func (q *queue[T]) len() int { return len(q.list) - q.head }

func (q *queue[T]) front() T { return q.list[q.head] }

func (q *queue[T]) push(one T) {
	if q.head > 0 && len(q.list) == cap(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, one)
}

func (q *queue[T]) pop() T {
	one := q.list[q.head]
	var none T
	q.list[q.head] = none
	q.head++
	if q.empty() {
		q.list, q.head = q.list[:0], 0
	}
	return one
}

// remove takes out the first that fits, and reports whether there was one.
func (q *queue[T]) remove(fits func(T) bool) bool {
	for i := q.head; i < len(q.list); i++ {
		if fits(q.list[i]) {
			q.list = append(q.list[:i], q.list[i+1:]...)
			return true
		}
	}
	return false
}

// drain returns all, and leaves nothing.
func (q *queue[T]) drain() []T {
	all := q.list[q.head:]
	*q = queue[T]{}
	return all
}
