package ripc

import (
	"context"
	"log/slog"
)

// logOf is where a node writes to. Without a log, only what nobody should miss is written, as a server of net/http does without an
// ErrorLog: that a handler has panicked, for one.
func logOf(c *Config) *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.New(errorsOnly{slog.Default().Handler()})
}

// errorsOnly is a handler to which nothing else matters. Nobody derives others from it.
type errorsOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h errorsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}
