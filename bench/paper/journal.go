package paper

import (
	"context"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs"
)

// passage is a block on its way from one node to another, by their numbers.
type passage struct {
	from, to        uint32
	started, landed clock.Time
}

func (p *passage) took() time.Duration { return p.landed.Sub(p.started) }

// journal writes down the passage of every block, from what a fabric tells its observer.
type journal struct {
	block    uint32 // bytes; what is shorter is no block
	under    map[request]*passage
	landing  *passage   // the next receive that completes is that of its receiver
	passages []*passage // in the order in which they landed
	words    []word     // in the order of time
}

// word is when a node's NIC began to send something short, such as that the node is ready for a block.
type word struct {
	from uint32
	at   clock.Time
}

// request names what a node has posted, until it completes.
type request struct {
	node, queue uint32
	tag         verbs.Tag
}

// event implements sim.Config.Observe.
func (j *journal) event(e sim.Event) {
	switch {
	case e.Bytes < j.block && e.Op == verbs.OpSendImm && e.Kind == sim.Started:
		j.words = append(j.words, word{e.Node, e.Time})
	case e.Bytes < j.block:
	case e.Op == verbs.OpSendImm:
		j.sending(e, request{e.Node, e.Queue, e.Tag})
	case e.Op == verbs.OpReceiveImm && e.Kind == sim.Completed && j.landing != nil:
		j.landing.to = e.Node
		j.passages = append(j.passages, j.landing)
		j.landing = nil
	}
}

// sending follows a block from its sender's side.
func (j *journal) sending(e sim.Event, r request) {
	p := j.under[r]
	switch e.Kind {
	case sim.Posted:
		j.under[r] = &passage{from: e.Node}
	case sim.Started:
		p.started = e.Time
	case sim.Landed:
		p.landed, j.landing = e.Time, p
	case sim.Completed:
		delete(j.under, r)
	}
}

// record does an experiment, with a journal of its blocks.
func (e experiment) record(ctx context.Context) (*journal, result, error) {
	j := &journal{block: uint32(e.blockSize()), under: map[request]*passage{}}
	e.fabric.Observe = j.event
	r, err := e.run(ctx)
	return j, r, err
}

// says is when a node first says something, not before a time; Never: it does not.
func (j *journal) says(node uint32, after clock.Time) clock.Time {
	for _, w := range j.words {
		if w.from == node && w.at >= after {
			return w.at
		}
	}
	return clock.Never
}

// with lists the passages that have to do with a node, and into and outOf those of one direction.
func (j *journal) with(node uint32) []*passage {
	return j.those(func(p *passage) bool { return p.from == node || p.to == node })
}

func (j *journal) into(node uint32) []*passage {
	return j.those(func(p *passage) bool { return p.to == node })
}

func (j *journal) outOf(node uint32) []*passage {
	return j.those(func(p *passage) bool { return p.from == node })
}

func (j *journal) those(match func(*passage) bool) (some []*passage) {
	for _, p := range j.passages {
		if match(p) {
			some = append(some, p)
		}
	}
	return some
}
