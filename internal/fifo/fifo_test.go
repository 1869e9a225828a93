package fifo

import (
	"slices"
	"testing"
)

func TestFirstInFirstOut(t *testing.T) {
	var q Queue[int]
	next := 0
	for i := range 1000 {
		q.Push(i)
		if i%3 == 0 {
			continue
		}
		if q.Front() != next || q.Pop() != next {
			t.Fatalf("after %d: not %d", i, next)
		}
		next++
	}
	if q.Len() != 1000-next || len(q.Drain()) != 1000-next || !q.Empty() {
		t.Error("it does not know how many there are")
	}
}

func TestRemoveKeepsTheOrderOfTheOthers(t *testing.T) {
	var q Queue[int]
	for i := range 5 {
		q.Push(i)
	}
	q.Pop()
	if !q.Remove(func(i int) bool { return i == 2 }) || q.Remove(func(i int) bool { return i == 0 }) {
		t.Error("2 is there, 0 is not")
	}
	if rest := q.Drain(); !slices.Equal(rest, []int{1, 3, 4}) {
		t.Errorf("left are %v", rest)
	}
}

func TestChange(t *testing.T) {
	var q Queue[int]
	for i := range 3 {
		q.Push(i)
	}
	q.Pop()
	double := func(what int) func(*int) bool {
		return func(i *int) bool {
			if *i == what {
				*i *= 2
				return true
			}
			return false
		}
	}
	if !q.Change(double(1)) || q.Change(double(0)) || !slices.Equal(q.Drain(), []int{2, 2}) {
		t.Error("1 is there and was not doubled, or 0 is not and was")
	}
}

// What was taken out must not be kept from the collector.
func TestNothingIsKept(t *testing.T) {
	var q Queue[*int]
	for range 4 {
		q.Push(new(int))
	}
	q.Remove(func(*int) bool { return true })
	q.Pop()
	for i, p := range q.list[:cap(q.list)] {
		if p != nil && (i < q.head || i >= len(q.list)) {
			t.Errorf("place %d still has something", i)
		}
	}
}
