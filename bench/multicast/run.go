package multicast

import (
	"context"
	"errors"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/bench/peers"
)

// bench is a run.
type bench struct {
	Options
	ctx      context.Context
	record   *figure.Record
	programs *peers.MPI // nil: there is no MPI here
	noMPI    error      // why
	slow     map[string]bool
	pace     pace
	links    picture
}

// Run measures everything that was asked for, in the order of the table. It fails if a bound is missed or something could
// not be measured.
func Run(ctx context.Context, o Options) (err error) {
	b := &bench{Options: o, ctx: ctx, slow: map[string]bool{}, record: figure.NewRecord(o.Version, "make bench-multicast")}
	if b.programs, b.noMPI = peers.NewMPI(); b.programs != nil {
		defer func() { err = errors.Join(err, b.programs.Close()) }()
	}
	b.versions()
	if err := b.record.Take(ctx, o.Only, b.steps()); err != nil {
		return err
	}
	b.record.Figures = b.links.figures()
	return b.finish()
}

// steps are the rows, in their order.
func (b *bench) steps() []contest.Step {
	var all []planned
	for _, receivers := range groupSizes {
		all = append(all, b.linkStep(receivers))
	}
	all = append(all, b.smallStep())
	all = append(all, b.hostSteps()...)
	all = append(all, allocationStep())
	return b.pace.plan(all, b.Only)
}

// versions takes down who takes part.
func (b *bench) versions() {
	m := &b.record.Machine
	for l, version := range map[peers.Library]*string{peers.OpenMPI: &m.OpenMPI, peers.MPICH: &m.MPICH} {
		v, err := l.Version()
		if err != nil {
			b.record.Warn(err.Error())
		}
		*version = v
	}
}

// finish prints, keeps and draws what was measured.
func (b *bench) finish() error {
	if err := b.record.Print(b.Out); err != nil {
		return err
	}
	var err error
	if b.Out != "" {
		err = figure.Save(b.Out, b.record)
	}
	if b.Plot != "" {
		about, figures := figure.Page([]string{"multicast"}, []*figure.Record{b.record})
		err = errors.Join(err, figure.Draw(b.Plot, "weft bench multicast", about, figures...))
	}
	return errors.Join(err, b.record.Missed())
}
