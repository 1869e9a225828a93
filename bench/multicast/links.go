package multicast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
)

// What is sent on links, to how many.
const (
	messageBytes = 256 << 20
	probeBytes   = 32 << 20
	besideRounds = 1 // of the one that stands beside
	surelyRounds = fewestRounds
	patience     = 15 * time.Minute // how much behind the limit those may end: on slower links they take longer
)

var groupSizes = []int{3, 7, 15}

// linkStep measures a large message to a group.
func (b *bench) linkStep(receivers int) planned {
	bytes := messageBytes
	if b.Quick {
		bytes = probeBytes
	}
	s := contest.Step{Name: fmt.Sprintf("%d MiB to %d receivers", bytes>>20, receivers), Watches: true}
	s.Run = func() (rows []contest.Result, err error) {
		f, err := b.open(receivers)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		peers, err := b.probe(f, delivery.Load{Bytes: probeBytes, Repeats: 1})
		if err != nil {
			return nil, err
		}
		l := newLineup(peers)
		b.rounds(f, delivery.Load{Bytes: bytes, Repeats: 1}, l.everybody())
		b.links.add(receivers, bytes, l.everybody())
		return l.rows(s.Name, receivers), b.ctx.Err()
	}
	return planned{s, probeTime + time.Duration(b.Rounds)*roundTime(bytes)}
}

// What a step is thought to take: many short runs, and rounds of eight, each with its start.
const (
	probeTime = 150 * time.Second
	startTime = 1500 * time.Millisecond // most take less, udpcast and BitTorrent more
)

func roundTime(bytes int) time.Duration {
	const rate = 190e6 / 8
	return 8 * (startTime + time.Duration(float64(bytes)/rate*float64(time.Second)))
}

// rounds has everybody deliver in turn. Who fails is left out from then on, and so is the rest if time runs out.
func (b *bench) rounds(f *delivery.Field, load delivery.Load, all []*entry) {
	for round := range b.Rounds {
		if b.enough(round, roundTime(load.Bytes)) {
			b.record.Note("%d receivers: %d rounds of %d, because time ran out", f.Receivers(), round, b.Rounds)
			break
		}
		for _, e := range all {
			if e.failed != nil || e.beside && round >= besideRounds {
				continue
			}
			b.deliver(f, load, e, fmt.Sprintf("round %d of %d", round+1, b.Rounds))
			if b.ctx.Err() != nil {
				return
			}
		}
	}
}

// enough reports whether there have been rounds enough, because another one would take too long. On a slow day it is better to
// end late than to have measured less.
func (b *bench) enough(rounds int, another time.Duration) bool {
	return rounds >= surelyRounds && b.pace.late(another) || rounds > 0 && b.pace.late(-patience)
}

// deliver takes one sample. Others may fail once: it is not they who are tested.
func (b *bench) deliver(f *delivery.Field, load delivery.Load, e *entry, when string) {
	s, err := f.Deliver(b.ctx, e.Contestant, load)
	if err != nil && e.Kind != delivery.KindWeft && len(e.samples) > 0 && b.ctx.Err() == nil {
		b.record.Note("%d receivers, %s: tried again, because of: %v", f.Receivers(), when, err)
		s, err = f.Deliver(b.ctx, e.Contestant, load)
	}
	if b.ctx.Err() != nil {
		e.failed = context.Cause(b.ctx)
		return
	}
	if err != nil {
		e.failed = err
		b.pace.say(b.Said, "%d receivers, %s: %v", f.Receivers(), when, err)
		return
	}
	e.samples = append(e.samples, s)
	b.pace.say(b.Said, "%d receivers, %s: %s, %.3f s, with start-up %.2f s, CPU %.2f of %.2f s", f.Receivers(), when, e.Name, s.Seconds, s.Whole, s.CPU, s.AllCPU)
}
