package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

// lent is how long a pusher has to fetch an answer that does not fit into a message.
const lent = 10 * time.Second

// handle answers one call. Whatever is wrong with it is said in the answer, by a control.Trouble.
func (a *agent) handle(ctx context.Context, m *ripc.Message) error {
	g, err := a.admit(m)
	if err != nil {
		return a.reply(ctx, m, control.Answer[any]{Error: troubleOf(err)})
	}
	defer a.guests.leave(g) // when it has its answer: that too may take long
	answer, err := a.do(ctx, g, m)
	if err != nil {
		return a.reply(ctx, m, control.Answer[any]{Error: troubleOf(err)})
	}
	return a.reply(ctx, m, control.Answer[any]{OK: &answer})
}

// admit lets somebody in who may call.
func (a *agent) admit(m *ripc.Message) (*guest, error) {
	caller, known := m.Sender()
	if err := checkCaller(caller, known); err != nil {
		return nil, err
	}
	return a.guests.enter(caller)
}

// do does what a call asks for.
func (a *agent) do(ctx context.Context, g *guest, m *ripc.Message) (any, error) {
	items, sizes := m.Items(), m.Lent()
	if len(items) == 0 || len(items)+len(sizes) != 2 {
		return nil, malformed("a call has a method and a request, not %d items and %d loans", len(items), len(sizes))
	}
	do, err := a.read(ctx, g, m)
	if err != nil {
		return nil, err
	}
	return do(ctx)
}

// checkCaller lets pushers in.
func checkCaller(caller keys.Identity, known bool) error {
	switch {
	case !known:
		return refused("nobody knows who you are: calls come with a certificate")
	case caller.Role != control.RolePusher:
		return refused("%s has the role %q; only a %s may push: 'weft keys issue --role %[3]s' makes such a certificate", caller.Name, caller.Role, control.RolePusher)
	}
	return nil
}

// read finds out what a call asks for.
func (a *agent) read(ctx context.Context, g *guest, m *ripc.Message) (deed, error) {
	items := m.Items()
	if len(items) == 2 {
		return a.understand(g.who, string(items[0]), items[1])
	}
	return a.readLong(ctx, g, m)
}

// readLong fetches a request that did not fit into the message. Of each member one is fetched at a time: they take memory.
func (a *agent) readLong(ctx context.Context, g *guest, m *ripc.Message) (deed, error) {
	if size := m.Lent()[0]; size > control.MaxText {
		return nil, malformed("the request has %d bytes, allowed are %d", size, control.MaxText)
	}
	select {
	case g.long <- struct{}{}:
		defer func() { <-g.long }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	list, err := m.Pull(ctx)
	if err != nil {
		return nil, err
	}
	defer list[0].Release()
	return a.understand(g.who, string(m.Items()[0]), list[0].Bytes())
}

// understand reads a request.
func (a *agent) understand(caller keys.Identity, name string, request []byte) (deed, error) {
	read := methods[name]
	if read == nil {
		return nil, malformed("there is no method %.32q: is the pusher of a later version?", name)
	}
	return read(a, caller, request)
}

// reply sends an answer: in a message if it fits, else the pusher fetches it.
func (a *agent) reply(ctx context.Context, m *ripc.Message, answer control.Answer[any]) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	ctx = context.WithoutCancel(ctx) // that it is too late is something to be told
	node := a.config.Place.Node()
	if len(text) <= node.ShortLimit() {
		return m.Answer(ctx, text)
	}
	b, err := node.Alloc(len(text))
	if err != nil {
		return err
	}
	defer b.Release()
	copy(b.Bytes(), text)
	return m.AnswerWith(ctx, ripc.Reply{Lend: []*ripc.Buffer{b}, Expiry: lent})
}
