package push

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/static"
)

// newHosts makes the hosts of a push.
func newHosts(c *Config) (all []*host, rootRack int) {
	for _, h := range c.Hosts {
		all = append(all, &host{where: h, name: h.String()})
	}
	racks, rootRack := rackNumbers(c.Racks, c.OwnRack)
	for i, rack := range racks {
		all[i].rack = rack
	}
	return all, rootRack
}

// connect finds the ways to all hosts, opens this end, and has every agent say hello.
func (p *pusher) connect(ctx context.Context) error {
	p.atEach(ctx, p.hosts, p.Fan, p.reach)
	if ctx.Err() != nil { // not all hosts were looked for
		return context.Cause(ctx)
	}
	table := make(map[string][]string)
	for _, h := range alive(p.hosts) {
		if table[h.service] != nil {
			return fmt.Errorf("%w: %s is named twice, or has two agents: one is known by the name of its host (%s)", ErrUsage, h.name, h.service)
		}
		table[h.service] = []string{h.address}
	}
	agents, err := static.New(table)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if p.place, err = p.OpenPlace(agents); err != nil {
		return err
	}
	p.node = p.place.Node()
	p.atEach(ctx, p.hosts, patientFan*p.Fan, p.hello)
	return p.anybody(ctx)
}

func (p *pusher) reach(ctx context.Context, h *host) (err error) {
	defer p.calls.Add(1)
	if h.address, h.service, err = p.Reach.Reach(ctx, h.where); err != nil {
		return &control.Trouble{Class: control.Unreachable, Text: err.Error()}
	}
	h.id = ripc.Name(h.service)
	return nil
}

// hello asks who is there, and whether they understand us.
func (p *pusher) hello(ctx context.Context, h *host) (err error) {
	if !h.alive() {
		return nil
	}
	defer p.calls.Add(1) // also of those that do not answer: there may be hundreds
	h.greeting, err = call[control.Hello, control.Greeting](ctx, p.node, h, p.ConnectTimeout, control.MethodHello, control.Hello{Version: control.Version, Weft: p.Weft})
	if err != nil {
		return orItsName(ctx, h.address, err, net.DefaultResolver.LookupHost)
	}
	if h.greeting.Version != control.Version {
		return &control.Trouble{Class: control.Preflight, Text: fmt.Sprintf("speaks version %d (weft %s), this end version %d (weft %s): install the same", h.greeting.Version, h.greeting.Weft, control.Version, p.Weft)}
	}
	p.emit(Event{Kind: EventConnected, Host: h.name})
	return nil
}

// lookup finds the addresses of a name.
type lookup func(ctx context.Context, name string) ([]string, error)

// lookAgain is how long a name is looked up of a host that has not answered in time.
const lookAgain = time.Second

// orItsName is why a host has not answered: whoever dialled it may have waited for its name all the time, and that is another trouble for people.
func orItsName(ctx context.Context, address string, err error, look lookup) error {
	name, _, wrong := net.SplitHostPort(address)
	if wrong != nil || isAuthorization(err) || reasonOf(err) != tooLate {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	_, wrong = look(ctx, name)
	switch unknown := new(net.DNSError); {
	case wrong == nil:
		return err
	case errors.As(wrong, &unknown) && unknown.IsNotFound:
		return &control.Trouble{Class: control.Unreachable, Text: reasonOf(wrong)}
	}
	return &control.Trouble{Class: control.Unreachable, Text: lateName}
}

// patientFan is how many times more hosts are asked at a time who they are: those that do not answer cost time, and no work.
const patientFan = 8

// atEach does something at all hosts, at most so many at a time, and returns when all are done. A host with whom something went wrong is given up
// at once, unless that may be because the push ends.
func (p *pusher) atEach(ctx context.Context, all []*host, most int, do func(context.Context, *host) error) {
	each(ctx, all, most, func(ctx context.Context, h *host) error {
		err := do(ctx, h)
		if err != nil && ctx.Err() == nil {
			p.Log.Info("a host is given up", "host", h.name, "error", err)
			p.giveUp(h, troubleOf(err))
		}
		return err
	})
}

// giveUp leaves a host out from now on.
func (p *pusher) giveUp(h *host, t *control.Trouble) {
	if !h.alive() {
		return
	}
	p.board.mu.Lock()
	h.trouble = t
	p.board.mu.Unlock()
	p.board.unwatch(h)
	p.emit(Event{Kind: EventHostFailed, Host: h.name, Class: t.Class, Cause: t.Cause, Text: t.Text})
}

// anybody reports whether there is a host left to go on with.
func (p *pusher) anybody(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(alive(p.hosts)) == 0 {
		return errNobody
	}
	return nil
}
