package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
)

// Dial connects to a Listener and greets it. It ends at the deadline of ctx, or after Options.Timeout if ctx has none. If
// nobody listens the error is syscall.ECONNREFUSED, or syscall.ENOENT for the file of a Unix socket; with Options.Wait it
// tries again until then.
func Dial(ctx context.Context, address string, options Options) (*Session, error) {
	s, err := dial(ctx, address, options)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return s, nil
}

func dial(ctx context.Context, address string, options Options) (*Session, error) {
	if ctx == nil {
		return nil, fmt.Errorf("the context is nil: %w", ErrArgument)
	}
	checked, err := options.prepare()
	if err != nil {
		return nil, err
	}
	where, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	if err := checked.expect(where); err != nil {
		return nil, err
	}
	ctx, cancel := bound(ctx, checked.Timeout)
	defer cancel()
	conn, err := where.dial(ctx, options.Wait)
	if err != nil {
		return nil, err
	}
	if err := say(ctx, conn, checked.Preface); err != nil {
		return nil, errors.Join(err, ignoreClosed(conn.Close()))
	}
	return open(ctx, conn, checked, dialling)
}

// say writes what comes before everything else.
func say(ctx context.Context, conn net.Conn, preface []byte) error {
	if len(preface) == 0 {
		return nil
	}
	defer wire{conn}.guard(ctx)()
	_, err := conn.Write(preface)
	return explain(ctx, err)
}

// expect has TLS expect the host that is dialled, unless the configuration says whom to expect.
func (p *prepared) expect(where target) error {
	if p.TLS == nil || p.TLS.ServerName != "" || p.TLS.InsecureSkipVerify {
		return nil
	}
	if where.host == "" {
		return fmt.Errorf("Options.TLS.ServerName is empty, and the address does not say whom to expect: %w", ErrArgument)
	}
	p.TLS = p.TLS.Clone()
	p.TLS.ServerName = where.host
	return nil
}

// dial connects, and tries again if it may. If the time is up in the middle of a try, what the ones before it found counts.
func (t target) dial(ctx context.Context, wait bool) (net.Conn, error) {
	var missed error // of the last try that found nobody
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, 250*time.Millisecond) {
		conn, err := new(net.Dialer).DialContext(ctx, t.network, t.address)
		switch {
		case err == nil:
			return conn, nil
		case nobody(err):
			missed = err
		case missed == nil || ctx.Err() == nil && !errors.Is(explain(ctx, err), ErrSilent):
			return nil, explain(ctx, err)
		}
		if !wait {
			return nil, fmt.Errorf("nobody listens there; start the other end first: %w", err)
		}
		if pause.For(ctx, delay) != nil {
			return nil, fmt.Errorf("nobody listens there, still: %w: %w", explain(ctx, context.Cause(ctx)), missed)
		}
	}
}

// nobody reports whether an error means that nobody listens, yet.
func nobody(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}
