package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/weft-fabric/weft/connect"
)

// server is a command that waits for peers at an address.
type server struct {
	address string
	options connect.Options
	in      io.Reader // of a child: it ends with this
	child   bool
	once    bool // one peer is enough
	say     *serverTalk
}

// serve gives peers to answer, one after the other.
func (s *server) serve(ctx context.Context, answer func(context.Context, *connect.Session) error) (err error) {
	if s.child {
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		go runUntilEnd(s.in, end)
	}
	s.options.OnRefused = s.say.refused
	listener, err := connect.Listen(ctx, s.address, s.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	names := offerNames(s.options.Offers)
	s.say.tell(serverEvent{Event: "listening", Address: listener.Address(), Providers: names},
		"listening on %s for %s; Ctrl-C ends it\n", listener.Address(), strings.Join(names, " and "))
	for s.say.failed() == nil {
		session, err := listener.Accept(ctx)
		if err != nil {
			return err
		}
		if err = answer(ctx, session); s.once {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return s.say.failed()
}

// runUntilEnd waits until the parent closes the child's standard input, or dies. It ends with the process.
func runUntilEnd(in io.Reader, end func()) {
	_, _ = io.Copy(io.Discard, in)
	end()
}
