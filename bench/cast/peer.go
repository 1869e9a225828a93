package cast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/rdmc"
)

// peer is another member, as the root knows it.
type peer struct {
	rank          int
	name, address string
	session       *connect.Session
	host, clock   string

	heard word  // in the last step
	at    int64 // when it was heard, by the root's clock
	err   error // why it was not heard
}

func (p *peer) String() string { return fmt.Sprintf("member %d (%s)", p.rank, p.name) }

// runCall calls the member, which may not be there yet, and tells it the job. It ends with the context.
func (p *peer) runCall(ctx context.Context, options connect.Options, job *Job) {
	options.Wait = true
	if p.session, p.err = connect.Dial(ctx, p.address, options); p.err == nil {
		p.runSwap(ctx, "job", word{Job: job, Rank: p.rank}, stepTime)
		p.host, p.clock = p.heard.Host, p.heard.Clock
	}
}

// runSwap has one step with the member. It ends with the context, or when the member answers or dies.
func (p *peer) runSwap(ctx context.Context, step string, mine word, patience time.Duration) {
	p.heard, p.err = swap(ctx, p.session, step, mine, patience)
	p.at = hostClock()
}

// runEnd ends the session. It ends when the member has heard why, or after a moment.
func (p *peer) runEnd(why error) {
	if p.session != nil {
		_ = p.session.CloseWith(why) // it may be gone
	}
}

// failed reports whether the member cannot go on, or cannot be heard.
func (p *peer) failed() bool { return p.err != nil || p.heard.Error != "" }

// each does something with all members at once, and waits for the end.
func (g *leading) each(do func(*peer)) {
	var all sync.WaitGroup
	for _, p := range g.peers {
		all.Go(func() { do(p) })
	}
	all.Wait()
}

// patience is how long a member may take for a step that is no transfer, such as to touch memory or to check it.
func (g *leading) patience() time.Duration {
	const slow = 100_000_000 // bytes a second
	return stepTime + time.Duration(g.Job.Size/slow)*time.Second + time.Duration(len(g.peers))*crowdTime
}

// silent is to say nothing.
func silent(*peer) word { return word{} }

// swap has one step with all members, and fails if one of them fails.
func (g *leading) swap(step string, mine func(*peer) word) error {
	g.each(func(p *peer) { p.runSwap(g.ctx, step, mine(p), g.patience()) })
	return g.verdict(nil)
}

// agree has one step with all members, in which everybody tells whether it has succeeded.
func (g *leading) agree(step string, mine error) error {
	patience := g.patience()
	if mine != nil {
		patience = g.Job.Timeout + failedTime // by then the others have noticed, too
	}
	g.each(func(p *peer) { p.runSwap(g.ctx, step, word{}, patience) })
	return g.verdict(mine)
}

// verdict says who has failed, of what this member has seen itself and what the others have said.
func (g *leading) verdict(mine error) error {
	if blame, why, ok := g.blame(mine); ok {
		return fmt.Errorf("%v %s", g.peers[blame-1], why)
	}
	var said, lost []error
	for _, p := range g.peers {
		switch {
		case p.err == nil && p.heard.Error != "":
			said = append(said, fmt.Errorf("%v %s", p, p.heard.Error))
		case p.err != nil:
			lost = append(lost, fmt.Errorf("%v %w", p, p.err))
		}
	}
	switch {
	case mine != nil:
		return named(mine)
	case said != nil:
		return oneLine(said)
	}
	return oneLine(lost)
}

// blame is the member that has failed first, according to this one or else to the others. Whoever gives up because of
// another is not to blame, and one that says itself what is wrong knows best.
func (g *leading) blame(mine error) (rank int, why string, ok bool) {
	var failure *rdmc.Failure
	if errors.As(mine, &failure) && failure.Rank > 0 {
		rank, why = failure.Rank, fmt.Sprint(failure.Cause)
	}
	for _, p := range g.peers {
		if who := p.blames(len(g.peers)); who > 0 && (rank == 0 || rank == p.rank) {
			rank, why = who, p.heard.Error
		}
	}
	if rank == 0 {
		return 0, "", false
	}
	if own := g.peers[rank-1].heard; own.Error != "" && own.Blame == nil {
		why = own.Error
	}
	return rank, why, true
}

// blames is the other member that this one says has failed, of so many; 0 if it says no such thing.
func (p *peer) blames(last int) int {
	if who := p.heard.Blame; who != nil && *who > 0 && *who <= last && *who != p.rank {
		return *who
	}
	return 0
}

// oneLine joins errors in one line, however many they are.
func oneLine(all []error) error {
	const most = 4
	if len(all) == 0 {
		return nil
	}
	var texts []string
	for _, err := range all[:min(len(all), most)] {
		texts = append(texts, err.Error())
	}
	if more := len(all) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(texts, "; "))
}
