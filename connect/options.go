package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"
)

// DefaultTimeout bounds a step whose context has no deadline, if Options.Timeout is zero.
const DefaultTimeout = 10 * time.Second

// Options says who this end is and how it behaves. The zero value is usable on loopback and on Unix sockets.
type Options struct {
	Name    string        // what the program calls itself; empty: the name of its executable
	Version string        // of the program
	Offers  []Offer       // providers, the best first; if both ends offer none, none is agreed on
	Timeout time.Duration // of a step whose context has no deadline, and of every greeting; zero: DefaultTimeout
	TLS     *tls.Config   // speak TLS, with mutual authentication if it says so; nil: plain
	Plain   bool          // Listen: allow an address beyond loopback without TLS
	Preface []byte        // Dial: said first, before TLS, to a Listener that shares a port with others
	Wait    bool          // Dial: try again while nobody listens, until the step's time is up

	// OnRefused hears why a Listener turned a client away, one client at a time; nil: nobody does. It runs in the
	// listener's goroutines, and must not call its Close.
	OnRefused func(err error)
}

// prepared is checked options, with what this end will say.
type prepared struct {
	Options
	greeting greeting
}

func (o Options) prepare() (*prepared, error) {
	if o.Timeout < 0 {
		return nil, fmt.Errorf("Options.Timeout %v is negative: %w", o.Timeout, ErrArgument)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	p := &prepared{Options: o, greeting: greeting{identity: self(o.Name, o.Version), place: here(), offers: o.Offers}}
	if err := p.greeting.check(); err != nil {
		return nil, fmt.Errorf("options: %w: %w", err, ErrArgument)
	}
	return p, nil
}

// bound gives a context without a deadline one.
func bound(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}
