package schedule

// striped runs independent schedules of one pattern in turn: block b belongs to stripe b mod stripes, and step t is step
// t/stripes of stripe t mod stripes. A member then waits for its peers only every so many steps, which hides latency, for
// stripes−1 times the steps that the pattern needs beyond the number of blocks.
type striped struct {
	pattern
	stripes int
}

func newStriped(p pattern, stripes int) pattern {
	if stripes <= 1 {
		return p
	}
	return striped{p, stripes}
}

// share is how many of the blocks belong to a stripe.
func share(blocks, stripes, stripe int) int { return (blocks - stripe + stripes - 1) / stripes }

// steps: the last of the stripes that have most blocks ends last.
func (s striped) steps(blocks int) int {
	longest := s.pattern.steps(share(blocks, s.stripes, 0))
	return (longest-1)*s.stripes + (blocks-1)%s.stripes + 1
}

func (s striped) send(blocks, step int) (Transfer, bool) {
	stripe, own := s.turn(blocks, step)
	if own == 0 {
		return Transfer{}, false
	}
	t, ok := s.pattern.send(own, step/s.stripes)
	return Transfer{t.Peer, t.Block*s.stripes + stripe}, ok
}

func (s striped) receive(blocks, step int) (Transfer, bool) {
	stripe, own := s.turn(blocks, step)
	if own == 0 {
		return Transfer{}, false
	}
	t, ok := s.pattern.receive(own, step/s.stripes)
	return Transfer{t.Peer, t.Block*s.stripes + stripe}, ok
}

func (s striped) sending(blocks int) (from, to int) {
	if b, ok := s.pattern.(bounded); ok {
		return s.widen(blocks, b.sending)
	}
	return 0, s.steps(blocks)
}

func (s striped) receiving(blocks int) (from, to int) {
	if b, ok := s.pattern.(bounded); ok {
		return s.widen(blocks, b.receiving)
	}
	return 0, s.steps(blocks)
}

// widen: the last stripe, which has the fewest blocks, begins first, and the first one ends last.
func (s striped) widen(blocks int, bounds func(blocks int) (from, to int)) (from, to int) {
	from, _ = bounds(share(blocks, s.stripes, s.stripes-1))
	_, to = bounds(share(blocks, s.stripes, 0))
	return from * s.stripes, to * s.stripes
}

// turn tells whose turn a step is, and how many blocks that stripe has.
func (s striped) turn(blocks, step int) (stripe, own int) {
	if step < 0 {
		return 0, 0
	}
	stripe = step % s.stripes
	return stripe, share(blocks, s.stripes, stripe)
}
