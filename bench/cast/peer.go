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

// runDial calls the member, which may not be there yet. It ends with the context.
func (p *peer) runDial(ctx context.Context, options connect.Options) {
	options.Wait = true
	p.session, p.err = connect.Dial(ctx, p.address, options)
}

// runSwap has one step with the member. It ends with the context, or when the member answers or dies.
func (p *peer) runSwap(ctx context.Context, step string, mine word, patience time.Duration) {
	p.heard, p.err = swap(ctx, p.session, step, mine, patience)
	p.at = hostClock()
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

// silent is to say nothing.
func silent(*peer) word { return word{} }

// swap has one step with all members, and fails if one of them fails.
func (g *leading) swap(step string, mine func(*peer) word) error {
	g.each(func(p *peer) { p.runSwap(g.ctx, step, mine(p), stepTime) })
	return g.verdict(nil)
}

// agree has one step with all members, in which everybody tells whether it has succeeded.
func (g *leading) agree(step string, mine error) error {
	g.each(func(p *peer) { p.runSwap(g.ctx, step, word{}, stepTime) })
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
			said = append(said, fmt.Errorf("%v: %s", p, p.heard.Error))
		case p.err != nil:
			lost = append(lost, fmt.Errorf("%v: %w", p, p.err))
		}
	}
	switch {
	case mine != nil:
		return mine
	case said != nil:
		return oneLine(said)
	}
	return oneLine(lost)
}

// blame is the member that most of all has failed, according to this one or else to the others. One that says itself
// what is wrong knows best.
func (g *leading) blame(mine error) (rank int, why string, ok bool) {
	var failure *rdmc.Failure
	if errors.As(mine, &failure) && failure.Rank > 0 {
		rank, why = failure.Rank, fmt.Sprint(failure.Cause)
	}
	for _, p := range g.peers {
		if who := p.heard.Blame; rank == 0 && who != nil && *who > 0 && *who <= len(g.peers) && *who != p.rank {
			rank, why = *who, p.heard.Error
		}
	}
	if rank == 0 {
		return 0, "", false
	}
	if own := g.peers[rank-1].heard; own.Error != "" && own.Blame == nil {
		why = ": " + own.Error
	}
	return rank, why, true
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
