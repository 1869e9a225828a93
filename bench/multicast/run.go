package multicast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/bench/simulated"
)

// bench is a run.
type bench struct {
	Options
	ctx      context.Context
	record   *figure.Record
	programs *peers.MPI // nil: there is no MPI here
	noMPI    error      // why
	slow     map[string]bool
	rates    map[int]string // of links, by the number of receivers
	pace     pace
	links    picture
}

// Run measures everything that was asked for, in the order of the table. It fails if a bound is missed or something could
// not be measured.
func Run(ctx context.Context, o Options) (err error) {
	b := &bench{Options: o, ctx: ctx, slow: map[string]bool{}, rates: map[int]string{}, record: newRecord(o.Version)}
	if b.programs, b.noMPI = peers.NewMPI(); b.programs != nil {
		defer func() { err = errors.Join(err, b.programs.Close()) }()
	}
	steps := b.steps()
	if len(steps) == 0 {
		return fmt.Errorf("--only %s matches nothing; there are %s", o.Only, strings.Join(b.names(), "; "))
	}
	b.versions()
	if err := b.record.Take(ctx, o.Only, steps); err != nil {
		return err
	}
	b.record.Figures = b.links.figures()
	return b.finish()
}

// steps are those that were asked for.
func (b *bench) steps() []contest.Step { return b.pace.plan(b.all(), b.Only) }

// names are those of all steps.
func (b *bench) names() (names []string) {
	for _, s := range b.all() {
		names = append(names, s.Name)
	}
	return names
}

// all are the steps, in the order of the table.
func (b *bench) all() (all []planned) {
	for _, receivers := range groupSizes {
		all = append(all, b.linkStep(receivers))
	}
	all = append(all, b.smallStep())
	all = append(append(all, b.hostSteps()...), allocationStep())
	return append(all, b.simulatedSteps()...)
}

// simulatedSteps are the rows that do not depend on links or peers. They come last and are not counted to the Limit: what is
// measured does not have fewer rounds for their sake.
func (b *bench) simulatedSteps() (all []planned) {
	if b.Quick {
		return nil
	}
	for _, s := range simulated.Steps(b.ctx) {
		all = append(all, planned{Step: s})
	}
	return all
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
	for k, version := range map[delivery.Kind]*string{delivery.KindUDPCast: &m.UDPCast, delivery.KindTorrent: &m.Aria2} {
		v, err := delivery.Version(b.ctx, k)
		if err != nil {
			b.record.Warn(err.Error())
		}
		*version = v
	}
}

// show prints what was measured, for people or for programs.
func (b *bench) show() error {
	if b.JSON {
		return json.NewEncoder(b.Shown).Encode(b.record)
	}
	return b.record.Print(b.Out)
}

// finish prints, keeps and draws what was measured.
func (b *bench) finish() error {
	if err := b.show(); err != nil {
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
