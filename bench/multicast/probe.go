package multicast

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft/bench/delivery"
)

// tooSlow is how much slower than the best of its kind a setting may be in a group to be tried in a larger one.
const tooSlow = 1.5

// kinds are those of the others of whom the best is taken.
var kinds = []delivery.Kind{delivery.KindMPI, delivery.KindUDPCast, delivery.KindTorrent}

// again is how many of each kind are tried a second time, before one is chosen.
const again = 2

// probe has every setting of every peer deliver once, the best of each kind once more, and returns the best of each.
func (b *bench) probe(f *delivery.Field, load delivery.Load) (best []*entry, err error) {
	tried := b.try(f, load, b.settings(f))
	if b.ctx.Err() != nil {
		return nil, context.Cause(b.ctx)
	}
	for _, kind := range kinds {
		all := ofKind(tried, kind)
		if len(all) == 0 {
			best = append(best, missing(kind, b.noMPI))
			continue
		}
		b.markSlow(all)
		b.tryAgain(f, load, all[:min(again, len(all))])
		if all[0].failed == nil {
			b.record.Note("%d receivers: the best of %d settings of %s is %s", f.Receivers(), len(all), kind, all[0].Name)
		}
		best = append(best, &entry{Contestant: all[0].Contestant, failed: all[0].failed})
	}
	b.links.probed(f.Receivers(), load.Bytes, tried)
	return best, nil
}

// tryAgain has the best of a kind deliver once more, and sorts them: one lucky moment does not decide.
func (b *bench) tryAgain(f *delivery.Field, load delivery.Load, best []*entry) {
	for i, e := range best {
		if e.failed == nil && len(best) > 1 {
			b.deliver(f, load, e, fmt.Sprintf("the best of %s, %d of %d", e.Kind, i+1, len(best)))
		}
	}
	sortByTime(best)
}

// settings are those of the others that are worth a try.
func (b *bench) settings(f *delivery.Field) []delivery.Contestant {
	udp, torrent := f.UDPCastWays(), delivery.TorrentWays()
	if b.Quick {
		return slices.Concat(b.mpiWays(), udp[:1], torrent[:1])
	}
	tcp := []delivery.Contestant{delivery.ParallelCopies(), delivery.SequentialCopies()}
	return slices.Concat(b.mpiWays(), b.notSlow(udp), b.notSlow(torrent), tcp)
}

// notSlow are those that were not slow in a smaller group.
func (b *bench) notSlow(all []delivery.Contestant) []delivery.Contestant {
	return slices.DeleteFunc(all, func(c delivery.Contestant) bool { return b.slow[c.Name] })
}

// mpiWays are those of MPI that are worth a try, if it is here.
func (b *bench) mpiWays() []delivery.Contestant {
	if b.programs == nil {
		return nil
	}
	all := delivery.MPIWays(b.programs)
	if b.Quick {
		all = all[:2]
	}
	return b.notSlow(all)
}

// try has each deliver once. If it is late, one of each kind has to do.
func (b *bench) try(f *delivery.Field, load delivery.Load, all []delivery.Contestant) (tried []*entry) {
	for i, c := range all {
		if b.pace.late(0) && len(ofKind(tried, c.Kind)) > 0 {
			continue
		}
		e := &entry{Contestant: c}
		b.deliver(f, load, e, fmt.Sprintf("setting %d of %d", i+1, len(all)))
		if b.ctx.Err() != nil {
			return tried
		}
		tried = append(tried, e)
	}
	return tried
}

// ofKind are those of one kind, the fastest first and who failed last.
func ofKind(tried []*entry, kind delivery.Kind) (all []*entry) {
	for _, e := range tried {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	sortByTime(all)
	return all
}

func sortByTime(all []*entry) {
	place := func(e *entry) float64 {
		if e.failed != nil {
			return math.Inf(1)
		}
		return e.seconds()
	}
	slices.SortStableFunc(all, func(a, b *entry) int { return cmp.Compare(place(a), place(b)) })
}

// markSlow has larger groups spared what was slow in this one. Who failed is tried again.
func (b *bench) markSlow(sorted []*entry) {
	for _, e := range sorted {
		if e.failed == nil && e.seconds() > tooSlow*sorted[0].seconds() {
			b.slow[e.Name] = true
		}
	}
}

// missing stands for a peer that cannot be had.
func missing(kind delivery.Kind, why error) *entry {
	return &entry{Contestant: delivery.Contestant{Name: string(kind), Kind: kind}, failed: why}
}
