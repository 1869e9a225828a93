package agent

import (
	"context"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// method reads a request, and returns what is to be done for it.
type method func(a *agent, caller keys.Identity, request []byte) (deed, error)

// deed is what a request asks for, once it was understood. It does not need the request's bytes any more.
type deed func(ctx context.Context) (answer any, err error)

// methods are all that an agent can be asked for.
var methods = map[string]method{
	control.MethodHello:   ofAgent((*agent).hello),
	control.MethodProbe:   probe,
	control.MethodOpen:    ofAgent((*agent).open),
	control.MethodForm:    ofPush((*session).form, func(q *control.Form) manifest.ID { return q.ID }),
	control.MethodConnect: ofPush((*session).connect, func(q *control.Connect) manifest.ID { return q.ID }),
	control.MethodBegin:   ofPush((*session).begin, func(q *control.Begin) manifest.ID { return q.ID }),
	control.MethodStatus:  ofPush((*session).status, func(q *control.StatusRequest) manifest.ID { return q.ID }),
	control.MethodPages:   ofPush((*session).pages, func(q *control.Pages) manifest.ID { return q.ID }),
	control.MethodHave:    ofPush((*session).have, func(q *control.HaveRequest) manifest.ID { return q.ID }),
	control.MethodEnd:     ofPush((*session).endGroup, func(q *control.End) manifest.ID { return q.ID }),
	control.MethodFinish:  ofPush((*session).finish, func(q *control.Finish) manifest.ID { return q.ID }),
	control.MethodAbort:   ofAgent((*agent).abort),
}

// probe answers when it was read: that is all it is for.
func probe(*agent, keys.Identity, []byte) (deed, error) {
	return func(context.Context) (any, error) { return control.Empty{}, nil }, nil
}

// ofAgent makes a method of one that needs no push.
func ofAgent[Q, A any](f func(*agent, context.Context, keys.Identity, *Q) (A, error)) method {
	return func(a *agent, caller keys.Identity, request []byte) (deed, error) {
		q, err := control.Decode[Q](request)
		if err != nil {
			return nil, notUnderstood(err)
		}
		return func(ctx context.Context) (any, error) { return f(a, ctx, caller, q) }, nil
	}
}

// ofPush makes a method of one of a push that is open, and the caller's. It renews the lease, when it begins and when it ends.
func ofPush[Q, A any](f func(*session, context.Context, *Q) (A, error), id func(*Q) manifest.ID) method {
	return ofAgent(func(a *agent, ctx context.Context, caller keys.Identity, q *Q) (A, error) {
		s, err := a.find(caller, id(q))
		if err == nil {
			err = s.lease.enter()
		}
		if err != nil {
			return *new(A), err
		}
		defer s.lease.leave()
		return f(s, ctx, q)
	})
}
