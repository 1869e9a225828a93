package waiting

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weft-fabric/weft/bench/figure"
)

// Limits of Options.
const (
	MaxRounds = 1000
	// enough is how long rounds may take together: the next one is not begun if it would probably end later.
	enough = 4 * time.Minute
)

// Options are what may differ.
type Options struct {
	Weft     string              // the binary; empty: this program's
	Rounds   int                 // of every setting, at most; 0: 5
	Progress func(done, all int) // samples, if not nil
	Warn     func(string)        // is told what is left out and why, if not nil
}

func (o *Options) complete() (err error) {
	if o.Rounds < 0 || o.Rounds > MaxRounds {
		return fmt.Errorf("%d rounds: from 1 to %d", o.Rounds, MaxRounds)
	}
	if o.Rounds == 0 {
		o.Rounds = 5
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Weft == "" {
		o.Weft, err = os.Executable()
	}
	return err
}

// key is what samples are kept by.
type key struct {
	place string
	setting
}

// samples are those of every setting, in the order of the rounds.
type samples map[key][]sample

// Run measures everything, and judges it: a figure of what was measured, and one of the ratios that the claims are about.
func Run(ctx context.Context, o Options) (all []*figure.Figure, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	where, missing := places(ctx, o.Weft)
	if missing != nil {
		o.Warn(without(missing))
	}
	defer func() { err = errors.Join(err, closeAll(where)) }()
	taken, rounds, err := o.rounds(ctx, where)
	if err != nil {
		return nil, err
	}
	return []*figure.Figure{taken.figure(where, rounds), taken.ratios(where, missing)}, nil
}

func closeAll(all []*place) (err error) {
	for _, p := range all {
		if p.links != nil {
			err = errors.Join(err, p.links.close())
		}
	}
	return err
}

// rounds takes as many rounds as were asked for, or as there is time for.
func (o *Options) rounds(ctx context.Context, all []*place) (taken samples, rounds int, err error) {
	taken = samples{}
	began := time.Now()
	for rounds < o.Rounds {
		if err := o.round(ctx, all, taken, rounds); err != nil {
			return nil, rounds, err
		}
		rounds++
		if gone := time.Since(began); gone+gone/time.Duration(rounds) > enough {
			break
		}
	}
	return taken, rounds, nil
}

// round takes one sample of every setting at every place.
func (o *Options) round(ctx context.Context, all []*place, taken samples, round int) error {
	each := turn(settings(), round)
	for i, p := range all {
		for j, s := range each {
			sample, err := p.measure(ctx, s)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("%s, %v: %w", p.name, s, err)
			}
			k := key{p.name, s}
			taken[k] = append(taken[k], sample)
			o.Progress((round*len(all)+i)*len(each)+j+1, o.Rounds*len(all)*len(each))
		}
	}
	return nil
}
