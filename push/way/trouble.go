package way

import (
	"context"
	"errors"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

// Classify says what kind of trouble it is that a call to an agent has failed with: a certificate that one of the two does not
// believe, or that does not list the service (Authorization); a host that does not answer, or that has no such agent (Unreachable).
func Classify(err error) control.Class {
	switch {
	case isAny(err, ripc.ErrForbidden, keys.ErrUntrusted, keys.ErrExpired, keys.ErrNoIdentity):
		return control.Authorization
	case isAny(err, ripc.ErrUnreachable, ripc.ErrNoService, ripc.ErrLost, context.DeadlineExceeded):
		return control.Unreachable
	case errors.Is(err, context.Canceled):
		return control.Interrupted
	}
	return control.Other
}

func isAny(err error, list ...error) bool {
	for _, one := range list {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
