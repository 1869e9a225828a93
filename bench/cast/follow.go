package cast

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/weft-fabric/weft/connect"
)

// Follower is a member that does what the root says.
type Follower struct {
	End
	Begin func(job *Job, rank int, lane string) // is told what the member is about to do; may be nil
}

// following is a follower in the middle of a job.
type following struct {
	member
	begin   func(*Job, int, string)
	ctx     context.Context
	session *connect.Session
}

// Follow carries out the job of the root that a session leads to. The session stays the caller's.
func (f *Follower) Follow(ctx context.Context, session *connect.Session) (err error) {
	g := &following{member: member{End: f.End}, begin: f.Begin, ctx: ctx, session: session}
	defer func() { err = errors.Join(err, g.close()) }()
	for _, step := range []func() error{g.hear, g.join, g.openLane, g.runs} {
		if err := step(); err != nil {
			return explain(err)
		}
	}
	return nil
}

// explain says that it was the root that is gone, if it was.
func explain(err error) error {
	if errors.Is(err, connect.ErrPeerGone) || errors.Is(err, connect.ErrSilent) {
		return fmt.Errorf("the root left, or died: %w", err)
	}
	return err
}

// say tells the root how something has ended here, and fails if it failed.
func (g *following) say(step string, mine word, failed error) (theirs word, err error) {
	if failed == nil {
		return swap(g.ctx, g.session, step, mine, messageTime)
	}
	_, _ = swap(context.WithoutCancel(g.ctx), g.session, step, tell(failed), failedTime) // the root may be what is gone
	return word{}, failed
}

// hear hears what the job is.
func (g *following) hear() error {
	host, _ := os.Hostname() // without a name it has none
	w, err := swap(g.ctx, g.session, "job", word{Host: host, Clock: clockName()}, stepTime)
	if err != nil {
		return err
	}
	if w.Job == nil {
		return errors.New("the root told no job: is it of another version?")
	}
	g.job, g.rank = w.Job, w.Rank
	return nil
}

// join meets the other members.
func (g *following) join() error {
	failed := g.listen(g.ctx, g.session.LocalAddr())
	if _, err := g.say("meet", word{Address: g.address()}, failed); err != nil {
		return err
	}
	w, err := g.say("members", word{}, nil)
	if err != nil {
		return err
	}
	_, err = g.say("met", word{}, g.meet(g.ctx, w.Addresses))
	return err
}

// openLane opens one lane after the other until the root has found one that all can use, and forms the group there.
func (g *following) openLane() error {
	lane := ""
	for {
		w, err := g.say("open", word{}, nil)
		if err != nil {
			return err
		}
		if w.Lane == "" {
			break
		}
		lane = w.Lane
		if _, err := g.say("opened", tell(g.open(lane, g.session)), nil); err != nil {
			return err
		}
	}
	if g.begin != nil {
		g.begin(g.job, g.rank, lane)
	}
	_, err := g.say("formed", word{}, g.form(g.ctx))
	return err
}

// runs takes part in one run after the other.
func (g *following) runs() error {
	for {
		w, err := g.say("ready", word{}, nil)
		if err != nil || w.Next == "" {
			return err
		}
		if err := g.run(w); err != nil {
			return err
		}
	}
}

// run takes part in one run.
func (g *following) run(w word) error {
	var c completion
	var failed error
	taken := w.Next == nextCast || g.job.copies(g.rank)
	if taken {
		c, failed = g.await(g.ctx)
	}
	if _, err := g.say("done", word{At: c.at}, failed); err != nil {
		return err
	}
	if taken {
		failed = g.check(c, w.Run)
	}
	_, err := g.say("checked", word{}, failed)
	return err
}
