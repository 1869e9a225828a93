package tune

import (
	"math"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// game is a message that is sent on paper: everybody's plan, step by step, with the time at which each block leaves and
// arrives, each credit too. What a member does in a step depends on earlier steps only, so that one pass over them is
// enough. Links carry one block after the other, where a network would have them share; but for the order in which blocks
// arrive that is the same.
type game struct {
	link
	block   float64 // bytes
	credits int
	pace    float64
	racks   []int // by rank; nil: all are in one
	players []player
	ups     []float64 // by rack: when its way out is free
	downs   []float64
	coming  []coming // blocks under way in a step
}

// coming is a block that will arrive.
type coming struct {
	to, block int
	at        float64
}

// player is one member. Times are nanoseconds from the beginning.
type player struct {
	rank   int
	plan   schedule.Plan
	part   *schedule.Part
	have   []float64 // by block: when it is here
	slots  []float64 // sends under way: when each has ended
	posted float64   // when the last block was posted
	latest float64   // when the last message was posted
	engine float64   // when the NIC can take the next one
	out    float64   // when the link is free, each way
	in     float64
	ready  []float64 // by receive, in order: when its sender has the credit
	words  []word    // that were posted last, at the same time
	herald int       // who brings messages
	step   int       // from which on receives were not posted
	end    int       // of those steps
	done   bool      // the receive for the next message was posted
	taken  int       // receives that were used
	last   float64   // when the last block was here, and had been passed on
}

// word is a credit under way.
type word struct {
	to              int
	posted, arrives float64
}

// play returns when the last block is everywhere. It fails if the schedule is impossible.
func play(g Group, l link, c Choice, blocks int) (float64, error) {
	m := game{link: l, block: float64(c.Block), credits: c.Credits, pace: float64(c.Pace), players: make([]player, g.Members)}
	if err := m.seat(g, c, blocks); err != nil {
		return 0, err
	}
	m.announce()
	for step, steps := 0, m.players[0].plan.Steps(); step < steps; step++ {
		m.step(step)
	}
	last := 0.0
	for i := range m.players[1:] {
		last = max(last, m.players[1+i].last)
	}
	return last, nil
}

// step has everybody send, and only then receive: what comes in a step is for the next one.
func (m *game) step(step int) {
	m.coming = m.coming[:0]
	for rank := range m.players {
		if t, ok := m.players[rank].plan.Send(step); ok {
			m.coming = append(m.coming, coming{t.Peer, t.Block, m.send(rank, t)})
		}
	}
	for _, c := range m.coming {
		m.arrive(&m.players[c.to], c.block, c.at)
	}
}

// seat gives everybody a plan.
func (m *game) seat(g Group, c Choice, blocks int) error {
	shape := schedule.Config{Algorithm: c.Algorithm, Members: g.Members, Stripes: c.Stripes}
	if c.Algorithm == schedule.Chain {
		shape.Stripes = 1 // a chain's stripes are blocks under way on the same link, in the same order
	}
	if c.Algorithm.Racks() {
		shape.Racks = g.Racks
	}
	if len(g.Racks) > 0 {
		m.racks = g.Racks
		m.ups, m.downs = make([]float64, len(g.Racks)), make([]float64, len(g.Racks))
	}
	for rank := range m.players {
		part, err := schedule.New(shape, rank)
		if err != nil {
			return err
		}
		m.players[rank] = newPlayer(part, rank, blocks, c.sends(blocks))
	}
	return nil
}

// sends is how many blocks of a message are under way at a time (package rdmc has these defaults).
func (c Choice) sends(blocks int) int {
	if c.Pace > 0 {
		return min(c.Stripes+1, blocks)
	}
	return min(c.Stripes, blocks)
}

func newPlayer(part *schedule.Part, rank, blocks, sends int) player {
	times := make([]float64, 2*blocks+sends)
	p := player{rank: rank, posted: math.Inf(-1), part: part, plan: part.Plan(blocks), have: times[:blocks], slots: times[blocks:][:sends],
		ready: times[blocks+sends:][:0]}
	p.herald, _ = part.Herald()
	p.step, p.end = p.plan.Receiving()
	return p
}
