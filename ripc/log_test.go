package ripc

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// A panic is written down whether there is a log or not; what else goes wrong in a handler is its caller's affair then.
func TestAPanicIsNeverSilent(t *testing.T) {
	var written lockedText
	before := slog.Default()
	slog.SetDefault(written.logger())
	t.Cleanup(func() { slog.SetDefault(before) })
	n := newNode(t, nil, Config{})
	s, err := n.Register(patient(t), "service")
	check(t, err)
	var done sync.WaitGroup
	done.Go(func() {
		_ = s.Serve(context.Background(), 1, func(_ context.Context, m *Message) error {
			if string(m.Bytes()) == "panic" {
				panic("all is lost")
			}
			return errors.New("no such key")
		})
	})
	for _, what := range []string{"fail", "panic"} {
		if _, err := n.Call(patient(t), s.ID(), []byte(what)); !errors.Is(err, ErrFailed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check(t, s.Close())
	done.Wait()
	if text := written.String(); strings.Contains(text, "no such key") || !strings.Contains(text, "all is lost") || !strings.Contains(text, "log_test.go") {
		t.Errorf("written was: %s", text)
	}
}

// lockedText is a log that can be read while it is written.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lockedText) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
