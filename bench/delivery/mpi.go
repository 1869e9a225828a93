package delivery

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
)

// mpiWarm is what ranks broadcast before the first one that counts, so that their connections are there.
const mpiWarm = 1 << 20

// MPI is MPI_Bcast, one rank on each host.
func MPI(programs *peers.MPI, way peers.Bcast, name string) Contestant {
	return Contestant{Name: name, Kind: KindMPI, deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		return d.mpi(ctx, programs, way)
	}}
}

// mpi takes the times as soon as they are there. What ranks do afterwards does not matter: those of MPICH sometimes never
// come back from MPI_Finalize.
func (d *Delivery) mpi(ctx context.Context, programs *peers.MPI, way peers.Bcast) (Sample, error) {
	for host := range d.network.Hosts() {
		if _, err := d.place(host); err != nil {
			return Sample{}, err
		}
	}
	warm := mpiWarm
	if d.Repeats > 1 {
		warm = d.Bytes
	}
	line := append(d.launcher(way.Library), way.Arguments...)
	line = append(line, programs.Program(way.Library), strconv.Itoa(d.Bytes), strconv.Itoa(d.Repeats), strconv.Itoa(min(warm, d.Bytes)))
	command := d.network.Command(ctx, 0, "mpiexec."+string(way.Library), line...)
	command.Env = append(append(os.Environ(), "TMPDIR="+d.placeOf(0)), way.Variables...)
	p, err := d.startCommand(command)
	if err != nil {
		return Sample{}, err
	}
	if err := p.hear(ctx, " ns\n", d.Repeats); err != nil {
		return Sample{}, err
	}
	seconds, cpu, err := peers.BcastTimes(p.said.String(), d.Repeats)
	if err != nil {
		return Sample{}, err
	}
	return Sample{Seconds: contest.Median(seconds), CPU: contest.Median(cpu)}, nil
}

// launcher is how an implementation is told where the hosts are, that a command is run there by the agent, and that
// everything goes over the links.
func (d *Delivery) launcher(library peers.Library) []string {
	ranks := strconv.Itoa(d.network.Hosts())
	if library == peers.MPICH {
		return []string{"-launcher", "rsh", "-launcher-exec", d.agent, "-f", d.hostFile(), "-iface", "eth0", "-n", ranks}
	}
	// Ranks that have no core of their own must let each other run.
	return []string{"--allow-run-as-root", "--hostfile", d.hostFile(), "-n", ranks, "--map-by", "node", "--bind-to", "none",
		"--mca", "mpi_yield_when_idle", "1", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", d.agent,
		"--mca", "oob_tcp_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0"}
}

// MPIWays are the ways of MPI_Bcast that are tried on links. What is fast comes first.
func MPIWays(programs *peers.MPI) (all []Contestant) {
	for _, w := range peers.BcastsOnLinks() {
		all = append(all, MPI(programs, w.Bcast, fmt.Sprintf("%s %s", w.Library.Name(), w.Name)))
	}
	return all
}
