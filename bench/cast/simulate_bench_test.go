package cast

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkSimulate is a message of 64 blocks to all nodes of a simulation, from making them to checking what has arrived.
// A thousand blocks take about sixteen times as long.
func BenchmarkSimulate(b *testing.B) {
	for _, nodes := range []int{512, 2500, 10_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			job := someJob(0)
			for i := range nodes {
				job.Members = append(job.Members, fmt.Sprint("node", i))
			}
			job.Rate, job.Size, job.Block, job.Stripes, job.Credits = 40e9, 64e6, 1e6, 2, AutoCredits(2, false)
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
