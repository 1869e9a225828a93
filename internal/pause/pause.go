// Package pause waits before something is tried again.
package pause

import (
	"context"
	"time"
)

// For waits for d, or returns why the context ended before that.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
