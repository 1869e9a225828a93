package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/units"
)

// serve waits as a member for a root, and does what it says.
func (s *multicastSettings) serve(ctx context.Context) error {
	waits := &server{address: s.address, options: s.connectOptions(), in: s.in, child: s.child, once: !s.keep,
		say: &serverTalk{out: s.out, asJSON: s.asJSON}}
	return waits.serve(ctx, func(ctx context.Context, session *connect.Session) error {
		return s.follow(ctx, session, waits.say)
	})
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
