package multicast

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
)

// What a small message has to reach.
const (
	smallBytes     = 8 << 20
	smallReceivers = 15
	smallRepeats   = 3 // in the same processes
	smallBound     = 0.8
	chainBound     = 1.05
	bestChains     = 3 // that take part in the rounds
	smallTime      = 3 * time.Minute
)

// chainBlocks are the block sizes of chains that are tried.
var chainBlocks = []int{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20}

// smallStep measures a small message to a large group, where blocks are few and a chain is long.
func (b *bench) smallStep() planned {
	s := contest.Step{Name: fmt.Sprintf("%d MiB to %d receivers", smallBytes>>20, smallReceivers), Watches: true}
	s.Run = func() (rows []contest.Result, err error) {
		f, err := b.open(smallReceivers)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return b.small(f, s.Name), b.ctx.Err()
	}
	return planned{s, smallTime}
}

func (b *bench) small(f *delivery.Field, where string) (rows []contest.Result) {
	mpi, chains := b.smallProbe(f)
	if len(chains) == 0 {
		return nil // interrupted
	}
	weft, parallel := ourEntries(), &entry{Contestant: delivery.ParallelCopies()}
	all := slices.Concat(weft, []*entry{mpi, parallel}, chains)
	b.rounds(f, delivery.Load{Bytes: smallBytes, Repeats: smallRepeats}, all)
	b.links.addSmall(all)
	sortByTime(chains)
	rows = smallRows(where, weft, mpi, parallel, chains[0])
	return explain(rows, where, linkAlone(f.LinkTime(smallBytes).Seconds(), mpi), mpi)
}

// smallRows compare ours with MPI, with copies to all at once, and with the best chain.
func smallRows(where string, weft []*entry, mpi, parallel, chain *entry) (rows []contest.Result) {
	for _, e := range weft {
		what := fmt.Sprintf("%s, %s", where, e.Name)
		if e.failed != nil {
			rows = append(rows, contest.Result{What: what, Failed: e.failed.Error()})
			continue
		}
		rows = append(rows, duel{what, bestOf(mpi), "s", smallBound, seconds}.row(e, mpi),
			duel{what, parallel.Name, "s", smallBound, seconds}.row(e, parallel),
			duel{what, "the best chain", "s", chainBound, seconds}.row(e, chain))
	}
	return rows
}

// smallProbe finds the best way of MPI, and the best chains.
func (b *bench) smallProbe(f *delivery.Field) (mpi *entry, chains []*entry) {
	load := delivery.Load{Bytes: smallBytes, Repeats: 1}
	mpi = missing(delivery.KindMPI, b.noMPI)
	if tried := ofKind(b.try(f, load, b.mpiWays()), delivery.KindMPI); len(tried) > 0 {
		b.tryAgain(f, load, tried[:min(again, len(tried))])
		mpi = &entry{Contestant: tried[0].Contestant, failed: tried[0].failed}
	}
	var contestants []delivery.Contestant
	for _, block := range chainBlocks {
		contestants = append(contestants, delivery.Weft(beside, block))
	}
	for _, e := range ofKind(b.try(f, load, contestants), delivery.KindWeft) {
		if len(chains) < bestChains {
			chains = append(chains, &entry{Contestant: e.Contestant, failed: e.failed})
		}
	}
	b.record.Note("%d MiB to %d receivers: the best of MPI is %s", smallBytes>>20, smallReceivers, mpi.Name)
	return mpi, chains
}
