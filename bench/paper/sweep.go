package paper

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/internal/units"
)

// sweep is experiments that make lines in a chart: one for each series at each x.
type sweep struct {
	xs     []float64
	series []string
	at     func(series, x int) (e experiment, ok bool) // by index; not ok: the line has no such point
}

// swept is what came out, by series and x; nil: no such point.
type swept struct {
	sweep
	results [][]*result
}

// sweep does the experiments of a sweep.
func (o Options) sweep(ctx context.Context, s sweep) (swept, error) {
	var list []experiment
	var places []**result
	out := swept{sweep: s}
	for i := range s.series {
		out.results = append(out.results, make([]*result, len(s.xs)))
		for j := range s.xs {
			if e, ok := s.at(i, j); ok {
				list, places = append(list, e), append(places, &out.results[i][j])
			}
		}
	}
	results, err := o.runAll(ctx, list)
	for i := range results {
		*places[i] = &results[i]
	}
	return out, err
}

// lines are the series of a chart, with y of each result.
func (s swept) lines(y func(x float64, r result) float64) []plot.Series {
	var lines []plot.Series
	for i, name := range s.series {
		line := plot.Series{Name: name}
		for j, r := range s.results[i] {
			if r != nil {
				line.Points = append(line.Points, plot.Point{X: s.xs[j], Y: y(s.xs[j], *r)})
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// table has a row for each x.
func (s swept) table(x string, row func(x float64) string, cell func(x float64, r result) string) *figure.Table {
	t := &figure.Table{Columns: append([]string{x}, s.series...)}
	for j, x := range s.xs {
		cells := []string{row(x)}
		for i := range s.series {
			if r := s.results[i][j]; r != nil {
				cells = append(cells, cell(x, *r))
			} else {
				cells = append(cells, "")
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// What stands at an axis and in a table.
func number(x float64) string                 { return fmt.Sprintf("%g", x) }
func bytes(x float64) string                  { return units.Size(x).String() }
func seconds(_ float64, r result) float64     { return r.last.Seconds() }
func milliseconds(_ float64, r result) string { return fmt.Sprintf("%.2f ms", r.last.Seconds()*1e3) }
func bitRate(_ float64, r result) float64     { return r.rate() }
func gigabits(_ float64, r result) string     { return fmt.Sprintf("%.1f", r.rate()/1e9) }
