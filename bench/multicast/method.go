package multicast

import (
	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/bench/simulated"
)

// command repeats a run.
const command = "make bench-multicast"

// method is how the rows are measured that are not simulated.
const method = "Hosts are network namespaces of one machine, each with a link of 200 Mbit/s both ways, or of 100 Mbit/s where our processes alone would take more than 40 % of the cores at that; the notes say where. Settings of MPI, udpcast and BitTorrent are " +
	"tried with 32 MiB, in larger groups without those that were slow, and the best of each kind takes part. In a round everybody delivers once; a ratio is of two deliveries of the same round, and " +
	"what is shown is the median of the rounds, with the lowest and the highest. Times are from the first byte to the last one at the last receiver. " +
	"Rows of processes are measured on one host, in shared memory or over loopback."

func newRecord(version string) *figure.Record {
	r := figure.NewRecord(version, command)
	r.Method, r.Simulated = method, simulated.Settings()
	return r
}
