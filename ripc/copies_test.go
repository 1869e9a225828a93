package ripc

import (
	"bytes"
	"context"
	"testing"
)

// What Weft copies of a message's bytes, on every path from one process to another: doc.go says the same.
func TestCopies(t *testing.T) {
	const small, short, long = 100, 2000, 1 << 20
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "s")
	check(t, err)
	answer := func(*Message) error { return nil } // how the service answers the call that is under way
	serve(t, s, func(m *Message) { check(t, answer(m)) })
	empty := func(m *Message) error { return m.Answer(patient(t)) }
	mine, theirs, into := filled(t, a, long, "mine"), filled(t, b, long, "theirs"), filled(t, a, long, "?")
	kept := filled(t, b, long, "?")
	ask := func(r Request) func() {
		return func() {
			r.To = s.ID()
			m, err := a.Do(patient(t), r)
			check(t, err)
			defer m.Release()
			for _, taken := range pulled(t, m) {
				taken.Release()
			}
		}
	}
	for _, c := range []struct {
		path   string
		do     func()
		answer func(*Message) error
		copied uint64
	}{
		{"a signal", ask(Request{}), empty, 0},
		{"short, from anywhere", ask(Request{Items: [][]byte{make([]byte, short)}}), empty, short},
		{"short, from a buffer", ask(Request{Items: [][]byte{mine.Bytes()[:short]}}), empty, 0},
		{"short, a few bytes of a buffer", ask(Request{Items: [][]byte{mine.Bytes()[:small]}}), empty, small},
		{"long, into a buffer that the service chose", ask(Request{Lend: []*Buffer{mine}}), func(m *Message) error {
			check(t, m.PullInto(patient(t), kept))
			return m.Answer(patient(t))
		}, 0},
		{"long, into a buffer of the pool", ask(Request{Lend: []*Buffer{mine}}), func(m *Message) error {
			for _, taken := range pulled(t, m) {
				taken.Release()
			}
			return m.Answer(patient(t))
		}, 0},
		{"a short answer", ask(Request{}), func(m *Message) error { return m.Answer(patient(t), theirs.Bytes()[:short]) }, 0},
		{"a long answer", ask(Request{}), func(m *Message) error {
			return m.AnswerWith(context.Background(), Reply{Lend: []*Buffer{theirs}})
		}, 0},
		{"an answer in the caller's return buffer", ask(Request{Return: []*Buffer{into}}), func(m *Message) error {
			return m.AnswerWith(patient(t), Reply{Fill: map[int]*Buffer{0: theirs}})
		}, 0},
	} {
		answer = empty
		ask(Request{})() // they know each other
		answer = c.answer
		before := copied(t, a, b)
		c.do()
		if n := copied(t, a, b) - before; n != c.copied {
			t.Errorf("%s: %d bytes were copied, want %d", c.path, n, c.copied)
		}
	}
	if !bytes.Equal(kept.Bytes(), mine.Bytes()) || !bytes.Equal(into.Bytes(), theirs.Bytes()) {
		t.Error("something else arrived")
	}
}

// pulled reads what a message lends.
func pulled(t *testing.T, m *Message) []*Buffer {
	t.Helper()
	if len(m.Lent()) == 0 {
		return nil
	}
	list, err := m.Pull(patient(t))
	check(t, err)
	return list
}

// copied is what nodes have copied.
func copied(t *testing.T, nodes ...*Node) (bytes uint64) {
	t.Helper()
	for _, n := range nodes {
		counts, err := n.Counts()
		check(t, err)
		bytes += counts.Copied
	}
	return bytes
}
