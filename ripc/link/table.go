package link

import "iter"

// table finds things by number. Where few are there at a time, the last bits of the number say where; what had to make room for
// another one is in a map.
type table[T any] struct {
	places [16]place[T]
	others map[uint64]*T
	count  int
}

// place is for those whose numbers have the same last bits. Invariant: the one whose number it has, or had last, is not in the map.
type place[T any] struct {
	number uint64
	one    *T // nil: it is free
}

func (t *table[T]) place(number uint64) *place[T] { return &t.places[number%uint64(len(t.places))] }

// get returns the one with a number, or nil.
func (t *table[T]) get(number uint64) *T {
	if p := t.place(number); p.number == number {
		return p.one
	}
	return t.others[number]
}

// put adds one whose number is not there.
func (t *table[T]) put(number uint64, one *T) {
	p := t.place(number)
	if p.one != nil {
		t.displace(p)
	}
	p.number, p.one = number, one
	t.count++
}

func (t *table[T]) displace(p *place[T]) {
	if t.others == nil {
		t.others = make(map[uint64]*T)
	}
	t.others[p.number] = p.one
}

// remove takes the one with a number out, if it is there.
func (t *table[T]) remove(number uint64) {
	if t.get(number) == nil {
		return
	}
	t.count--
	if p := t.place(number); p.number == number {
		p.one = nil
		return
	}
	delete(t.others, number)
}

// len is how many there are.
func (t *table[T]) len() int { return t.count }

// all are those that are there. They may be removed meanwhile.
func (t *table[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range t.places {
			if one := t.places[i].one; one != nil && !yield(one) {
				return
			}
		}
		for _, one := range t.others {
			if !yield(one) {
				return
			}
		}
	}
}
