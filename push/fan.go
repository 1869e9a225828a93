package push

import (
	"context"
	"sync"
)

// each does something at all hosts, at most so many at a time, and returns when all are done: what came of it, by host.
func each(ctx context.Context, all []*host, most int, do func(context.Context, *host) error) []error {
	errs := make([]error, len(all))
	places := make(chan struct{}, max(1, most))
	var working sync.WaitGroup
	for i, h := range all {
		places <- struct{}{}
		working.Go(func() {
			defer func() { <-places }()
			if errs[i] = context.Cause(ctx); errs[i] == nil {
				errs[i] = do(ctx, h)
			}
		})
	}
	working.Wait()
	return errs
}
