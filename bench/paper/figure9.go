package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// figure9 is the replication layer of a store: one node makes objects and sends each to three of fifteen others.
func figure9() Scenario {
	s := Scenario{Name: "fig9", Title: "Latencies of a store's replication layer (Cosmos) on Fractus", Section: "5.2.2, figure 9",
		Claim: "the pipeline is almost twice as fast as the tree and about three times as fast as sequential sends, near the NIC's rate"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		all, err := o.cosmos(ctx)
		if err != nil {
			return nil, err
		}
		f := s.figure(fmt.Sprintf("%d objects, one after the other, to 3 of 15 nodes each, by one of %d groups of 4 that were made before, in blocks of 1 MiB "+
			"on NICs of 100 Gbit/s. The trace is not public: sizes are log-normal with a median of 12 MB and a mean of 29 MB.", len(all[0].took), cosmosGroups))
		f.Charts = []plot.Chart{{Title: s.Title, X: plot.Axis{Label: "latency", Unit: "s", Log: true},
			Y: plot.Axis{Label: "objects that are no slower"}, Series: cosmosLines(all)}}
		f.Table, f.Claims = cosmosTable(all), cosmosClaims(all)
		return f, nil
	}
	return s
}

// What is replicated, and where (section 5.2.2). The paper prints the number of groups, and nothing of the sizes.
const (
	cosmosReplicas = 15
	cosmosGroups   = 455 // three of fifteen
	cosmosMedian   = 12e6
	cosmosMean     = 29e6
	cosmosMost     = gib
)

// cosmosSizes draws sizes of objects. The mean of a log-normal distribution is its median times e^(σ²/2).
func cosmosSizes(random *rand.Rand, objects int) []uint64 {
	sigma := math.Sqrt(2 * math.Log(cosmosMean/cosmosMedian))
	sizes := make([]uint64, objects)
	for i := range sizes {
		sizes[i] = uint64(min(cosmosMedian*math.Exp(sigma*random.NormFloat64()), cosmosMost))
	}
	return sizes
}

// replicated is how it went with one algorithm.
type replicated struct {
	algorithm schedule.Algorithm
	took      []time.Duration // from the shortest
	bytes     float64         // of all objects, each counted once
	total     time.Duration
}

func (r *replicated) median() time.Duration { return r.took[len(r.took)/2] }

func (r *replicated) mean() time.Duration { return r.total / time.Duration(len(r.took)) }

// throughput is in bits a second, each object counted once.
func (r *replicated) throughput() float64 { return r.bytes * 8 / r.total.Seconds() }

// cosmos does the same with each algorithm.
func (o Options) cosmos(ctx context.Context) (all []*replicated, err error) {
	objects := 1000
	if o.Short {
		objects = 250
	}
	algorithms := []schedule.Algorithm{schedule.Pipeline, schedule.Tree, schedule.Sequential}
	for i, algorithm := range algorithms {
		random := rand.New(rand.NewPCG(o.Seed, 9))
		r := &replicated{algorithm: algorithm}
		store := cosmosStore{sizes: cosmosSizes(random, objects), random: random, result: r,
			progress: func(done int) { o.progress(i*objects+done, len(algorithms)*objects) }}
		if err := store.run(ctx, o.Seed); err != nil {
			return nil, fmt.Errorf("%v: %w", algorithm, err)
		}
		slices.Sort(r.took)
		all = append(all, r)
	}
	return all, nil
}

// cosmosLines are the distributions.
func cosmosLines(all []*replicated) (lines []plot.Series) {
	const points = 100
	for _, r := range all {
		line := plot.Series{Name: r.algorithm.String()}
		for i := range points {
			at := (2*i + 1) * len(r.took) / (2 * points)
			line.Points = append(line.Points, plot.Point{X: r.took[at].Seconds(), Y: float64(at+1) / float64(len(r.took))})
		}
		lines = append(lines, line)
	}
	return lines
}

func cosmosTable(all []*replicated) *figure.Table {
	t := &figure.Table{Columns: []string{"algorithm", "10 %", "median", "90 %", "99 %", "throughput", "a day"}}
	for _, r := range all {
		row := []string{r.algorithm.String()}
		for _, percent := range []int{10, 50, 90, 99} {
			row = append(row, fmt.Sprintf("%.2f ms", r.took[len(r.took)*percent/100].Seconds()*1e3))
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprintf("%.1f Gbit/s", r.throughput()/1e9), fmt.Sprintf("%.2f PB", r.throughput()/8*86400/1e15)))
	}
	return t
}

func cosmosClaims(all []*replicated) []figure.Claim {
	pipeline, tree, sequential := all[0], all[1], all[2]
	twice, thrice := ratio(tree.mean(), pipeline.mean()), ratio(sequential.mean(), pipeline.mean())
	return []figure.Claim{
		claim("the tree takes almost twice as long as the pipeline", twice >= 1.7 && twice <= 2.1, "on average %.2f ×, medians %.2f ×",
			twice, ratio(tree.median(), pipeline.median())),
		claim("sequential sends take around three times as long", thrice >= 2.6 && thrice <= 3.2, "on average %.2f ×, medians %.2f ×",
			thrice, ratio(sequential.median(), pipeline.median())),
		claim("throughput is near the NIC's: the paper had 93 of 100 Gbit/s, a petabyte a day", pipeline.throughput() >= 0.88*fractus,
			"%.1f Gbit/s, %.2f PB a day", pipeline.throughput()/1e9, pipeline.throughput()/8*86400/1e15),
	}
}
