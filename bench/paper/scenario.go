package paper

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/bench/figure"
)

// Scenario is one experiment of the paper.
type Scenario struct {
	Name    string // as in the paper: fig4a, table1
	Title   string
	Section string // of the paper
	Claim   string // what it has to show, in one sentence

	// Run does the experiment. It ends early, with an error, when the context does.
	Run func(ctx context.Context, o Options) (*figure.Figure, error)
}

// Options are what may differ between two runs of a scenario. The zero Options are the experiment as in the paper.
type Options struct {
	Seed     uint64              // of the simulation
	Short    bool                // less of everything, in a few seconds; the claims are the same
	Progress func(done, all int) // is told after each part, if not nil
}

// Scenarios are all experiments, in the order of the paper.
func Scenarios() []Scenario {
	return []Scenario{
		figure4a(),
		figure4b(),
		table1(),
		figure5(),
		figure6(),
		figure7(),
		figure8(),
		figure9(),
		figure10a(),
		figure10b(),
		figure11(),
		figure12(),
	}
}

// Find returns a scenario by its name.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("the paper has no experiment %q: there are %s", name, strings.Join(names, ", "))
}

// figure begins what a scenario returns.
func (s Scenario) figure(text string) *figure.Figure {
	return &figure.Figure{Name: s.Name, Title: s.Title, Source: "RDMC, section " + s.Section, Text: text}
}

// runAll does experiments one after the other, on the same seed.
func (o Options) runAll(ctx context.Context, experiments []experiment) ([]result, error) {
	results := make([]result, len(experiments))
	for i, e := range experiments {
		var err error
		e.fabric.Seed = o.Seed
		if results[i], err = e.run(ctx); err != nil {
			return nil, fmt.Errorf("%v: %w", e, err)
		}
		o.progress(i+1, len(experiments))
	}
	return results, nil
}

func (o Options) progress(done, all int) {
	if o.Progress != nil {
		o.Progress(done, all)
	}
}

// claim is a sentence of the paper, in our words, beside what was measured.
func claim(text string, holds bool, measured string, values ...any) figure.Claim {
	return figure.Claim{Text: text, Measured: fmt.Sprintf(measured, values...), Holds: holds}
}
