package main

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/here"
)

// openPlace opens a node among the services of a directory.
func openPlace(t *testing.T, directory string) *here.Node {
	t.Helper()
	p := place{directory: directory}
	p.given = newCall().Flags()
	m, err := p.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// As much as is allowed is read, and of more one byte, to see that there is more.
func TestAParcelIsBounded(t *testing.T) {
	m := openPlace(t, t.TempDir())
	const most = 200_000
	p, err := readParcel(m.Node, strings.NewReader(strings.Repeat("x", most)), most)
	if err != nil || p.size != most {
		t.Fatal(err)
	}
	p.release()
	for _, more := range []int{most + 1, 10 * most} {
		in := strings.NewReader(strings.Repeat("x", more))
		if _, err := readParcel(m.Node, in, most); err == nil || more-in.Len() != most+1 {
			t.Errorf("of %d bytes %d were read: %v", more, more-in.Len(), err)
		}
	}
}

// An answer in several parts is printed whole.
func TestCallPrintsAllPartsOfAnAnswer(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "services")
	m := openPlace(t, directory)
	s, err := m.Register(t.Context(), "parts")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Serve(ctx, 1, func(ctx context.Context, call *ripc.Message) error {
			b, err := m.Alloc(5)
			if err != nil {
				return err
			}
			defer b.Release()
			copy(b.Bytes(), "three")
			return call.AnswerWith(ctx, ripc.Reply{Items: [][]byte{[]byte("one "), []byte("two ")}, Lend: []*ripc.Buffer{b}})
		}); err != nil {
			t.Error(err)
		}
	})
	if status, out, errs := weft("call", "parts", "--directory", directory); status != 0 || out != "one two three" {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	cancel()
	done.Wait()
}
