package push

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

// Why a push as a whole ends before all is done. They are causes of contexts, too.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrDeadline    = errors.New("the deadline is over")
	ErrStalled     = errors.New("no host has got on")
)

// troubleOf is an error of a call, told as what is wrong with the host.
func troubleOf(err error) *control.Trouble {
	var told *control.Trouble
	if errors.As(err, &told) {
		return told
	}
	t := &control.Trouble{Class: classOf(err), Text: err.Error()}
	switch t.Class {
	case control.Unreachable:
		t.Text = reasonOf(err)
	case control.Authorization:
		t.Text = refusalOf(err)
	}
	return t
}

// classOf judges an error that the agent did not tell of itself.
func classOf(err error) control.Class {
	switch {
	case isAuthorization(err):
		return control.Authorization
	case errors.Is(err, ErrDeadline), errors.Is(err, ErrStalled):
		return control.Late
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return control.Interrupted
	case isUnreachable(err):
		return control.Unreachable
	}
	return control.Other
}

// isAuthorization reports whether one end does not accept who the other one is.
func isAuthorization(err error) bool {
	var alert tls.AlertError
	var unverified *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &alert) || errors.As(err, &unverified) || errors.As(err, &unknown) || errors.As(err, &invalid) ||
		isOneOf(err, ripc.ErrForbidden, keys.ErrUntrusted, keys.ErrExpired, keys.ErrNoIdentity)
}

func isUnreachable(err error) bool {
	return isOneOf(err, ripc.ErrUnreachable, ripc.ErrNoService, ripc.ErrLost, ripc.ErrRefused, ripc.ErrClosed, ripc.ErrExpired, context.DeadlineExceeded)
}

func isOneOf(err error, some ...error) bool {
	for _, one := range some {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// silent is the trouble with a host that was there and does not answer any more.
func silent(err error) *control.Trouble {
	var told *control.Trouble
	if errors.As(err, &told) && told.Class == control.Late {
		return told // it does answer
	}
	text := "does not answer any more"
	if reason := reasonOf(err); reason != tooLate {
		text += ": " + reason
	}
	return &control.Trouble{Class: control.Unreachable, Text: text}
}
