package cast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/connect/mesh"
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
	defer func() { err = errors.Join(err, g.close(err)) }()
	for _, step := range []func() error{g.hear, g.join, g.openLane, g.runs} {
		if err := step(); err != nil {
			return explain(err)
		}
	}
	return nil
}

// explain says who is gone: the root, or another member.
func explain(err error) error {
	if errors.Is(err, errGone) || errors.Is(err, errSilent) {
		return fmt.Errorf("the root %w", err)
	}
	return named(err)
}

// say tells the root how something has ended here, and fails if it failed.
func (g *following) say(step string, mine word, failed error) (theirs word, err error) {
	if failed == nil {
		return swap(g.ctx, g.session, step, mine, messageTime)
	}
	return word{}, g.verdict(step, failed)
}

// verdict tells the root what has failed here, and hears what has failed: the root has heard of it from all members, and
// knows who was the first. If it says nothing, what this member knows must do.
func (g *following) verdict(step string, failed error) error {
	ctx := context.WithoutCancel(g.ctx)
	_, err := swap(ctx, g.session, step, tell(failed), failedTime)
	if err == nil && g.ctx.Err() == nil {
		_, err = swap(ctx, g.session, "verdict", word{}, g.job.Timeout+2*failedTime)
	}
	if errors.Is(err, connect.ErrGaveUp) {
		return err
	}
	return failed
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
	choice, err := g.hearChoice()
	if err != nil {
		return err
	}
	_, err = g.say("formed", word{}, g.begins(choice, lane))
	return err
}

// hearChoice hears what the root chooses, if the job leaves something open. Member 1 takes part in its trial before.
func (g *following) hearChoice() (*Choice, error) {
	if !g.job.undecided() {
		return nil, nil
	}
	if err := g.try(); err != nil {
		return nil, err
	}
	w, err := g.say("chosen", word{}, nil)
	if err == nil && w.Choice == nil {
		err = errors.New("the root has chosen nothing: is it of another version?")
	}
	return w.Choice, err
}

// begins forms the group, by a choice if there was one.
func (g *following) begins(choice *Choice, lane string) error {
	if choice != nil {
		if err := g.decided(*choice); err != nil {
			return err
		}
	}
	if g.begin != nil {
		g.begin(g.job, g.rank, lane)
	}
	return g.form(g.ctx)
}

// try takes part in the trial, until the root has found out enough.
func (g *following) try() (err error) {
	var trial *member
	var failed error
	if g.rank == 1 {
		if trial, failed = g.openTrial(g.ctx); failed == nil {
			defer func() { err = errors.Join(err, trial.closeDevice()) }()
		}
	}
	_, err = g.say("tried", word{}, failed)
	return err
}

// runs takes part in one run after the other.
func (g *following) runs() error {
	ctx, cancel := context.WithCancelCause(g.ctx)
	var watching sync.WaitGroup
	watching.Go(func() { g.runWatch(ctx, cancel) })
	defer func() {
		cancel(nil)
		watching.Wait()
	}()
	for {
		w, err := g.say("ready", word{}, nil)
		if err != nil || w.Next == "" {
			return err
		}
		if err := g.run(ctx, w); err != nil {
			return err
		}
	}
}

// runWatch ends the wait for a message if the root gives up before it has sent one: the group has no reason to fail then.
// The root never comes to this barrier, but if it leaves the mesh the barrier fails. It ends with the context; runs waits
// for it.
func (g *following) runWatch(ctx context.Context, giveUp context.CancelCauseFunc) {
	withRoot, err := g.mesh.Among(0, g.rank)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, messageTime)
		defer cancel()
		err = withRoot.Barrier(ctx, "never")
	}
	var failed *mesh.Error
	if errors.As(err, &failed) && len(failed.Members) == 1 {
		err = failed.Members[0].Err // it can only be the root
	}
	giveUp(short(err))
}

// run takes part in one run.
func (g *following) run(ctx context.Context, w word) error {
	var c completion
	var failed error
	taken := w.Next == nextCast || g.job.copies(g.rank)
	before := processorTime()
	if taken {
		c, failed = g.await(ctx)
	}
	if g.ctx.Err() != nil {
		failed = errInterrupted
	}
	if _, err := g.say("done", word{At: c.at, CPU: int64(processorTime() - before)}, failed); err != nil {
		return err
	}
	if taken {
		failed = g.check(c, w.Run)
	}
	_, err := g.say("checked", word{}, failed)
	return err
}
