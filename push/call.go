package push

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

// repeatable are the methods that do no harm if they come twice: who opens a push again goes on with it, and who finishes it again hears the
// same. So a connection that breaks meanwhile is no reason to give a host up that may have committed everything.
var repeatable = map[string]bool{
	control.MethodHello: true, control.MethodOpen: true, control.MethodFinish: true, control.MethodStatus: true, control.MethodHave: true, control.MethodPages: true, control.MethodEnd: true, control.MethodAbort: true,
}

// call asks the agent of a host for something, and waits for at most so long, and not for one that is lost.
func call[Q, A any](ctx context.Context, node *ripc.Node, h *host, patience time.Duration, method string, q Q) (a A, err error) {
	ctx, done := h.whileAnswers(ctx)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := json.Marshal(q)
	if err != nil {
		return a, fmt.Errorf("%s: encode %T: %w", method, q, err)
	}
	m, err := send(ctx, node, h, method, text)
	if err != nil {
		return a, fmt.Errorf("%s: %w", method, orCause(ctx, err))
	}
	defer m.Release()
	answer, err := decode[A](ctx, m)
	if err != nil {
		return a, fmt.Errorf("%s: the answer: %w", method, orCause(ctx, err))
	}
	if answer.Error != nil {
		return a, answer.Error
	}
	return *answer.OK, nil
}

// orCause is why a context was cancelled, if it was and somebody has said so.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !isOneOf(cause, context.Canceled, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// headRoom is what a message carries beside the request: its head, the method, and room for what the head says of items.
const headRoom = 128

// send sends a request: in the message if it fits, else it is lent.
func send(ctx context.Context, node *ripc.Node, h *host, method string, text []byte) (*ripc.Message, error) {
	r := ripc.Request{To: h.id, Items: [][]byte{[]byte(method)}, Idempotent: repeatable[method]}
	if len(text) <= node.ShortLimit()-headRoom {
		r.Items = append(r.Items, text)
		return node.Do(ctx, r)
	}
	b, err := node.Alloc(len(text))
	if err != nil {
		return nil, err
	}
	defer b.Release()
	copy(b.Bytes(), text)
	r.Lend = []*ripc.Buffer{b}
	return node.Do(ctx, r)
}

// maxAnswer is how many bytes an answer may have: the largest is the set of blocks of the largest stream.
const maxAnswer = control.MaxBlocks/8*4/3 + 1<<16

// decode reads and checks an answer, which is in the message or lent by it.
func decode[A any](ctx context.Context, m *ripc.Message) (*control.Answer[A], error) {
	lent := m.Lent()
	if len(lent) == 0 {
		return control.Decode[control.Answer[A]](m.Bytes())
	}
	if len(lent) > 1 || lent[0] > maxAnswer {
		return nil, fmt.Errorf("%d bytes in %d parts are too many", lent[0], len(lent))
	}
	parts, err := m.Pull(ctx)
	if err != nil {
		return nil, err
	}
	defer parts[0].Release()
	return control.Decode[control.Answer[A]](parts[0].Bytes())
}
