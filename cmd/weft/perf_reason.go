package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// lastReason is a log that remembers the last error in it: why a connection failed, where the completion says only that
// it did. Any goroutine may use it.
type lastReason struct {
	mu   sync.Mutex
	text string
}

// Enabled implements slog.Handler.
func (r *lastReason) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle implements slog.Handler. The error in a record says more than its message.
func (r *lastReason) Handle(_ context.Context, record slog.Record) error {
	text := record.Message
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" || a.Key == "reason" {
			text = a.Value.String()
		}
		return true
	})
	r.mu.Lock()
	r.text = text
	r.mu.Unlock()
	return nil
}

// WithAttrs implements slog.Handler.
func (r *lastReason) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup implements slog.Handler.
func (r *lastReason) WithGroup(string) slog.Handler { return r }

// explain adds the reason to an error.
func (r *lastReason) explain(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || r.text == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, r.text)
}
