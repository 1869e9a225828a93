package push

import (
	"context"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
	"github.com/weft-fabric/weft/ripc"
)

// host is one of the hosts of a push, as the pusher sees it. What is below belongs to the goroutine that runs the push, but
// while it has others do something at many hosts at once: then each has its own.
type host struct {
	where   hosts.Host
	name    string // as it was written, for people
	rack    int
	address string
	service string // name; empty: it was not found out
	id      ripc.ID
	answers context.Context //nolint:containedctx // ends when it is lost, with that as the cause; nil: it is not watched yet

	greeting control.Greeting
	opened   control.Opened
	finished *control.Finished // it has verified and committed everything
	trouble  *control.Trouble  // it is given up
	demoted  bool              // it is slow, and served last
	isOpen   bool              // its agent knows of the push
	accused  bool              // by its word, or in its stead, another was given up
	broken   []string          // with whom its connections broke although its agent answers: hosts, the pusher, or itself
	strikes  int               // times that they did
	first    time.Duration     // to the first block, from the beginning of the push
}

// alive reports whether it still takes part.
func (h *host) alive() bool { return h.trouble == nil && h.finished == nil }

// whileAnswers is a context that ends also when the host is lost: nobody needs to wait for what it would say.
func (h *host) whileAnswers(ctx context.Context) (context.Context, func()) {
	if h.answers == nil {
		return ctx, func() {}
	}
	within, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.answers, func() { cancel(context.Cause(h.answers)) })
	return within, func() { stop(); cancel(nil) }
}

// those are the hosts for which something is true.
func those(all []*host, is func(*host) bool) (some []*host) {
	for _, h := range all {
		if is(h) {
			some = append(some, h)
		}
	}
	return some
}

// alive are the hosts that still take part.
func alive(all []*host) []*host { return those(all, (*host).alive) }
