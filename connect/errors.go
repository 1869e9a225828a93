package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
)

// What can go wrong. Errors of this package wrap one of these, or what the system or package tls says.
var (
	// ErrArgument: something is missing, malformed or out of range on this side.
	ErrArgument = errors.New("bad argument")
	// ErrVersion: the peer speaks another version of this exchange.
	ErrVersion = errors.New("the versions differ")
	// ErrNoCommonProvider: there is no provider that both ends offer and that reaches from one to the other.
	ErrNoCommonProvider = errors.New("no common provider")
	// ErrMalformed: the peer sent something that this exchange does not know.
	ErrMalformed = errors.New("not what a weft peer sends")
	// ErrOutOfStep: the ends do not swap the same thing.
	ErrOutOfStep = errors.New("the two ends are out of step")
	// ErrSilent: the peer did not answer in time. The error is also a context.DeadlineExceeded.
	ErrSilent = errors.New("the peer did not answer in time")
	// ErrPeerGone: the peer closed the session, or died.
	ErrPeerGone = errors.New("the peer closed the session")
	// ErrGaveUp: the peer ended the session by CloseWith, and said why.
	ErrGaveUp = errors.New("the peer gave up")
	// ErrClosed: this side closed the session or the listener.
	ErrClosed = errors.New("closed")
	// ErrRejected: the peer does not accept the certificate of this end. Only it knows why; it may have logged that.
	ErrRejected = errors.New("the peer does not accept our certificate")
	// ErrBusy: another goroutine is swapping on the session.
	ErrBusy = errors.New("another swap is under way")
)

// explain makes one of ours of an error of a connection.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("given up: %w", context.Cause(ctx))
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrSilent, context.DeadlineExceeded)
	case errors.Is(err, net.ErrClosed):
		return ErrClosed
	case errors.Is(err, io.EOF):
		return ErrPeerGone
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w in the middle of a message", ErrPeerGone)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%w: %w", ErrPeerGone, err)
	case isRejection(err):
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return err
}

// aboutCertificates are the alerts of TLS (RFC 8446, section 6.2) by which a peer says that it does not like our certificate:
// bad, unsupported, revoked, expired, unknown, of an unknown authority, not let in, and missing.
var aboutCertificates = []tls.AlertError{42, 43, 44, 45, 46, 48, 49, 116}

// isRejection finds such an alert. Package tls has a type of its own for those that came from the peer, but the words are the same.
func isRejection(err error) bool {
	var said *net.OpError
	return errors.As(err, &said) && said.Op == "remote error" && slices.ContainsFunc(aboutCertificates,
		func(a tls.AlertError) bool { return a.Error() == said.Err.Error() })
}
