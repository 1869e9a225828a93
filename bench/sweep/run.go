package sweep

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/bench/perftest"
)

// Row is what one case has shown.
type Row struct {
	Nodes      int            `json:"nodes"`
	Size       uint64         `json:"size"`
	Algorithm  cast.Algorithm `json:"algorithm"`
	Auto       bool           `json:"auto,omitempty"` // it was chosen by the cost model
	Block      int            `json:"block"`
	Blocks     int            `json:"blocks"`
	Stripes    int            `json:"stripes"`
	Credits    int            `json:"credits"`
	Pace       float64        `json:"pace_seconds"` // between blocks of a link, as the model chose it; 0: none
	Steps      int            `json:"steps"`
	BoundSteps int            `json:"bound_steps"`

	Seconds   float64 `json:"seconds"`
	Bound     float64 `json:"bound_seconds"`     // BoundSteps blocks on a link
	Copy      float64 `json:"copy_seconds"`      // the message once on a link
	Predicted float64 `json:"predicted_seconds"` // by the cost model
	Rate      float64 `json:"bits_per_second"`   // that each node received
	Skew      float64 `json:"skew_seconds"`      // between the first and the last receiver

	CrossRack  int       `json:"cross_rack_blocks,omitempty"`
	Phantom    bool      `json:"phantom"`
	Verified   bool      `json:"verified"`
	Events     uint64    `json:"events"`
	Wall       float64   `json:"wall_seconds"`
	PeakMemory uint64    `json:"peak_memory_bytes"`
	Members    []float64 `json:"member_seconds,omitempty"` // when each was done, the root first
}

// OverBound is how many times the bound it took.
func (r *Row) OverBound() float64 { return r.Seconds / r.Bound }

// OverCopy is how many times one copy it took.
func (r *Row) OverCopy() float64 { return r.Seconds / r.Copy }

// Run simulates one case.
func (p *Plan) Run(ctx context.Context, c Case, watch cast.Watch) (*Row, error) {
	debug.FreeOSMemory() // what the case before it has left would count for this one
	job := p.job(c)
	report, err := cast.Simulate(ctx, &job, p.Fabric, watch)
	if err != nil {
		return nil, fmt.Errorf("%d nodes, %v: %w", c.Nodes, c.Algorithm, err)
	}
	run := report.Results[0]
	copied := p.copySeconds(c)
	return &Row{Nodes: c.Nodes, Size: c.Size, Algorithm: job.Algorithm, Auto: c.Auto, Block: c.Block, Blocks: report.Blocks,
		Stripes: c.Stripes, Credits: c.Credits, Pace: c.Pace.Seconds(), Steps: report.Steps, BoundSteps: report.BoundSteps,
		Seconds: run.Seconds, Bound: copied * float64(report.BoundSteps) / float64(report.Blocks), Copy: copied,
		Predicted: c.Predicted.Seconds(), Rate: 8 * run.Rate, Skew: run.Skew,
		CrossRack: report.CrossRack, Phantom: report.Phantom, Verified: run.Verified,
		Events: report.Events, Wall: report.Wall, PeakMemory: report.PeakMemory, Members: run.Members}, nil
}

// copySeconds is how long a link takes for one message.
func (p *Plan) copySeconds(c Case) float64 { return float64(c.Size) * 8 / p.Rate }

// patience is for members that wait, in virtual time: nobody fails here, and short times would only cost events.
const patience = time.Hour

// job is what the simulator has to do for a case.
func (p *Plan) job(c Case) cast.Job {
	job := cast.Job{Size: c.Size, Block: c.Block, Algorithm: cast.Algorithm{Algorithm: c.Algorithm}, Stripes: c.Stripes, Credits: c.Credits, Pace: c.Pace,
		Offload: p.Offload, Wait: perftest.Polling, Runs: 1, Rate: p.Rate, Seed: p.Seed, Timeout: patience, Members: p.members(c.Nodes)}
	if c.Algorithm.Racks() {
		job.Racks = p.Fabric.Racks
	}
	return job
}

// members are the names of nodes.
func (p *Plan) members(nodes int) []string {
	for i := len(p.names); i < nodes; i++ {
		p.names = append(p.names, fmt.Sprint("n", i))
	}
	return p.names[:nodes]
}

// Winners are the best rows that had a rival.
func Winners(rows []*Row) []*Row {
	return slices.DeleteFunc(Best(rows), func(b *Row) bool {
		return !slices.ContainsFunc(rows, func(r *Row) bool { return r != b && b.rivals(r) })
	})
}

// rivals reports whether two rows are of the same group and message.
func (r *Row) rivals(other *Row) bool { return r.Nodes == other.Nodes && r.Size == other.Size }

// Best is the fastest row of each group and message, in the order of the rows.
func Best(rows []*Row) (best []*Row) {
	for _, r := range rows {
		i := slices.IndexFunc(best, r.rivals)
		switch {
		case i < 0:
			best = append(best, r)
		case r.Seconds < best[i].Seconds:
			best[i] = r
		}
	}
	return best
}
