package ripc

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
)

// serve handles messages one after the other, until the service ends.
func serve(t testing.TB, s *Service, handle func(m *Message)) {
	var done sync.WaitGroup
	done.Go(func() {
		for m, err := range s.Messages(context.Background()) {
			if err != nil {
				return
			}
			handle(m)
			m.Release()
		}
	})
	t.Cleanup(func() {
		_ = s.Close()
		done.Wait()
	})
}

func filled(t testing.TB, n *Node, size int, text string) *Buffer {
	t.Helper()
	b, err := n.Alloc(size)
	check(t, err)
	t.Cleanup(b.Release)
	copy(b.Bytes(), bytes.Repeat([]byte(text), size/len(text)+1))
	return b
}

func TestLongMessages(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "long")
	check(t, err)
	var got [][]byte
	serve(t, s, func(m *Message) {
		list, err := m.Pull(patient(t))
		check(t, err)
		for _, b := range list {
			got = append(got, bytes.Clone(b.Bytes()))
			b.Release()
		}
		check(t, m.Answer(patient(t), []byte("thank you")))
	})
	lent := []*Buffer{filled(t, a, 10, "ten"), filled(t, a, 3<<20, "three million")}
	m, err := a.Do(patient(t), Request{To: s.ID(), Lend: lent})
	check(t, err)
	m.Release()
	if len(got) != 2 || !bytes.Equal(got[0], lent[0].Bytes()) || !bytes.Equal(got[1], lent[1].Bytes()) {
		t.Errorf("%d pieces came, or others", len(got))
	}
	counts, err := a.Counts()
	check(t, err)
	if counts.Copied != 0 {
		t.Errorf("%d bytes were copied", counts.Copied)
	}
}

// The caller lends memory for the answer: the first service fills it, the second ignores it and lends its own.
func TestReturnBuffers(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	content := filled(t, b, 2<<20, "content")
	fills, err := b.Register(patient(t), "fills")
	check(t, err)
	serve(t, fills, func(m *Message) { check(t, m.AnswerWith(patient(t), Reply{Fill: map[int]*Buffer{0: content}})) })
	lends, err := b.Register(patient(t), "lends")
	check(t, err)
	serve(t, lends, func(m *Message) { check(t, m.AnswerWith(context.Background(), Reply{Lend: []*Buffer{content}})) })

	into := filled(t, a, 3<<20, "?")
	m, err := a.Do(patient(t), Request{To: fills.ID(), Return: []*Buffer{into}})
	check(t, err)
	if sizes := m.Filled(); len(sizes) != 1 || sizes[0] != 2<<20 || !bytes.Equal(into.Bytes()[:2<<20], content.Bytes()) || into.Bytes()[2<<20] != '?' {
		t.Errorf("filled are %v", sizes)
	}
	m.Release()
	if m, err = a.Do(patient(t), Request{To: lends.ID(), Return: []*Buffer{into}}); err != nil {
		t.Fatal(err)
	}
	list, err := m.Pull(patient(t))
	check(t, err)
	if len(m.Filled()) != 0 || !bytes.Equal(list[0].Bytes(), content.Bytes()) {
		t.Error("what was pulled is not what was lent")
	}
	list[0].Release()
	m.Release()
}

// A message that lends and is not wanted gives back what it lends.
func TestReleaseGivesLoansBack(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "rude")
	check(t, err)
	serve(t, s, func(*Message) {})
	from, err := a.Register(patient(t), "from")
	check(t, err)
	defer func() { check(t, from.Close()) }()
	check(t, from.Post(patient(t), Request{To: s.ID(), Lend: []*Buffer{filled(t, a, 100, "x")}}))
}

func TestBuffersAreCounted(t *testing.T) {
	n := newNode(t, nil, Config{})
	b, err := n.Alloc(5000)
	check(t, err)
	b.Retain()
	b.Release()
	b.Bytes()[4999] = 1
	b.Release()
	again, err := n.Alloc(8192)
	check(t, err)
	defer again.Release()
	if &again.Bytes()[0] != &b.Bytes()[0] {
		t.Error("a buffer that was given back is not used again")
	}
	for _, size := range []int{0, -1, 1 << 40} {
		if _, err := n.Alloc(size); !errors.Is(err, ErrArgument) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	d := newDirectory()
	x, y := newNode(b, d, Config{}), newNode(b, d, Config{})
	echo(b, y, "echo")
	ctx, to, text := context.Background(), Name("echo"), make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		m, err := x.Call(ctx, to, text)
		check(b, err)
		m.Release()
	}
}

// A long message whose receiver ends before it has read it is not delivered, as far as anybody knows; one that may be sent twice
// goes to whoever has the service next.
func TestALongMessageToAProcessThatEnds(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "kv")
	check(t, err)
	lent, err := a.Alloc(100)
	check(t, err)
	defer lent.Release()
	var done sync.WaitGroup
	for _, idempotent := range []bool{false, true} {
		done.Go(func() {
			err := a.Post(patient(t), Request{To: s.ID(), Lend: []*Buffer{lent}, Idempotent: idempotent})
			if idempotent && err != nil || !idempotent && !errors.Is(err, ErrLost) {
				t.Errorf("idempotent %v: %v", idempotent, err)
			}
		})
	}
	until(t, b, "both have arrived", func() bool { return s.arrived.Len() == 2 })
	check(t, b.Close())
	next, err := c.Register(patient(t), "kv")
	check(t, err)
	m, err := next.Receive(patient(t))
	check(t, err)
	m.Release()
	done.Wait()
	check(t, next.Close())
}
