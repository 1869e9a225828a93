package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/connect"
)

// serve answers clients.
func serve(ctx context.Context, s *perfSettings) error {
	waits := &server{address: s.address, options: s.connectOptions(), in: s.in, child: s.child, once: s.once,
		say: &serverTalk{out: s.out, asJSON: s.asJSON}}
	return waits.serve(ctx, func(ctx context.Context, session *connect.Session) error {
		return serveClient(ctx, s, session, waits.say)
	})
}

// serveClient answers one client, and tells how it went.
func serveClient(ctx context.Context, s *perfSettings, session *connect.Session, say *serverTalk) (err error) {
	client := session.Peer().String()
	defer func() {
		err = errors.Join(err, part(ctx, session))
		e := serverEvent{Event: "done", Client: client}
		if err != nil {
			e.Error = err.Error()
			say.tell(e, "%s: %v\n", client, err)
			return
		}
		say.tell(e, "%s: done\n", client)
	}()
	return s.provider.overLanes(session, s.say, func(l lane, offer connect.Offer) error {
		say.tell(serverEvent{Event: "client", Client: client, Provider: l.name}, "%s: over %s\n", client, l.name)
		return serveOver(ctx, s, session, l, offer.PeerTimeout)
	})
}

// serveOver answers the client of a session, over a lane that both have.
func serveOver(ctx context.Context, s *perfSettings, session *connect.Session, l lane, timeout time.Duration) (err error) {
	var reason lastReason
	device, err := l.openWith(ctx, session, s.device(timeout, &reason))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	server := perftest.Server{Side: perftest.Side{Device: device.Device, Exchange: session, Served: l.served, Cores: s.cores}}
	return l.noWay(reason.explain(server.Serve(ctx)))
}

// part ends a session. A client in the middle of a run hears that it was the server that was interrupted.
func part(ctx context.Context, session *connect.Session) error {
	if ctx.Err() != nil {
		return session.CloseWith(errors.New("the server was interrupted"))
	}
	return session.Close()
}

func offerNames(offers []connect.Offer) (names []string) {
	for _, offer := range offers {
		names = append(names, offer.Provider)
	}
	return names
}

// serverEvent is what a server tells programs.
type serverEvent struct {
	Event     string   `json:"event"`
	Address   string   `json:"address,omitempty"`
	Providers []string `json:"providers,omitempty"`
	Client    string   `json:"client,omitempty"`
	Provider  string   `json:"provider,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// serverTalk prints what happens to a server. Any goroutine may use it.
type serverTalk struct {
	out    io.Writer
	asJSON bool
	mu     sync.Mutex
	err    error // the first failure to print
}

func (t *serverTalk) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// refused tells that somebody was turned away.
func (t *serverTalk) refused(err error) {
	if errors.Is(err, connect.ErrPeerGone) {
		return // it left without a word: another server that looks whether this one lives, or a scanner
	}
	t.tell(serverEvent{Event: "refused", Error: err.Error()}, "refused: %v\n", err)
}

func (t *serverTalk) tell(e serverEvent, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if t.asJSON {
		err = json.NewEncoder(t.out).Encode(e)
	} else {
		_, err = fmt.Fprintf(t.out, format, args...)
	}
	if t.err == nil {
		t.err = err
	}
}
