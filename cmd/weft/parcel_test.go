package main

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/ripc"
)

// An answer in several parts is printed whole.
func TestCallPrintsAllPartsOfAnAnswer(t *testing.T) {
	var p place
	p.flags(pflag.NewFlagSet("", pflag.ContinueOnError))
	p.directory = filepath.Join(t.TempDir(), "services")
	m, err := p.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
	if status, out, errs := weft("call", "parts", "--directory", p.directory); status != 0 || out != "one two three" {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	cancel()
	done.Wait()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}
