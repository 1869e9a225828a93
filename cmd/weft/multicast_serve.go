package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/units"
)

// serve waits as a member for a root, and does what it says.
func (s *multicastSettings) serve(ctx context.Context) (err error) {
	if s.child {
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		go runUntilEnd(s.in, end)
	}
	say := &serverTalk{out: s.out, asJSON: s.asJSON}
	options := s.connectOptions()
	options.OnRefused = say.refused
	listener, err := connect.Listen(ctx, s.address, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	names := offerNames(options.Offers)
	say.tell(serverEvent{Event: "listening", Address: listener.Address(), Providers: names},
		"listening on %s for %s; Ctrl-C ends it\n", listener.Address(), strings.Join(names, " and "))
	for say.failed() == nil {
		session, err := listener.Accept(ctx)
		if err != nil {
			return err
		}
		if err = s.follow(ctx, session, say); !s.keep || ctx.Err() != nil {
			return err
		}
	}
	return say.failed()
}

// follow does what one root says, and tells how it went.
func (s *multicastSettings) follow(ctx context.Context, session *connect.Session, say *serverTalk) error {
	root := session.Peer().String()
	var reason lastReason
	follower := cast.Follower{End: s.end(&reason), Begin: func(job *cast.Job, rank int, lane string) {
		say.tell(serverEvent{Event: "client", Client: root, Provider: lane}, "%s: member %d of %d, %v by %v over %s\n", root, rank,
			len(job.Members), units.Size(job.Size), job.Algorithm, lane)
	}}
	err := s.explain(follower.Follow(ctx, session), &reason)
	err = errors.Join(err, part(ctx, session))
	e := serverEvent{Event: "done", Client: root}
	if err != nil {
		e.Error = err.Error()
		say.tell(e, "%s: %v\n", root, err)
		return fmt.Errorf("%s: %w", root, err)
	}
	say.tell(e, "%s: done\n", root)
	return nil
}
