package cast

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkSimulate is a message of 100 blocks to all nodes of a simulation, from making them to checking what has arrived,
// with what tune chooses for so many nodes. A thousand blocks take about ten times as long.
func BenchmarkSimulate(b *testing.B) {
	for _, nodes := range []int{512, 2500, 10_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			job := someJob(0)
			for i := range nodes {
				job.Members = append(job.Members, fmt.Sprint("node", i))
			}
			job.Rate, job.Size, job.Block, job.Stripes, job.Credits = 40e9, 100e6, 1e6, 1, 1
			events := uint64(0)
			for b.Loop() {
				report, err := Simulate(context.Background(), job, Fabric{}, Watch{})
				if err != nil {
					b.Fatal(err)
				}
				events += report.Events
			}
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB")
		})
	}
}
