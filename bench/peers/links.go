package peers

import (
	"fmt"
	"slices"
	"strconv"
)

// NamedBcast is a way to do MPI_Bcast, and what people call it.
type NamedBcast struct {
	Bcast
	Name string
}

// BcastsOnLinks are the ways of Open MPI and MPICH between hosts, over TCP. Whoever launches them says which links.
func BcastsOnLinks() (all []NamedBcast) {
	const kib = 1 << 10
	for _, segment := range []int{128 * kib, 64 * kib, 256 * kib, 32 * kib, 512 * kib, 1024 * kib, 2048 * kib} {
		all = append(all, tunedOnLinks(3, "pipeline", segment))
	}
	for number, name := range []string{2: "chain", 4: "split binary tree", 5: "binary tree", 6: "binomial tree", 7: "k-nomial tree"} {
		if name != "" {
			all = append(all, tunedOnLinks(number, name, 128*kib))
		}
	}
	all = append(all, tunedOnLinks(8, "scatter and allgather", 0), tunedOnLinks(9, "scatter and ring", 0),
		NamedBcast{Bcast{Library: OpenMPI, Arguments: tcpOnLinks}, "as it comes"})
	for _, way := range [][]string{{"as it comes"}, {"scatter and ring", "BCAST_INTRA_ALGORITHM=scatter_ring_allgather"}, pipelined(128 * kib), pipelined(512 * kib)} {
		variables := []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=eth0"}
		for _, v := range way[1:] {
			variables = append(variables, "MPIR_CVAR_"+v)
		}
		all = append(all, NamedBcast{Bcast{Library: MPICH, Variables: variables}, way[0]})
	}
	return all
}

var tcpOnLinks = []string{"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"}

// tunedOnLinks is an algorithm of Open MPI's "tuned" component, with segments of so many bytes; 0: it has none.
func tunedOnLinks(number int, name string, segment int) NamedBcast {
	if segment > 0 {
		name += fmt.Sprintf(", %d KiB", segment>>10)
	}
	arguments := slices.Concat(tcpOnLinks, []string{"--mca", "coll_tuned_use_dynamic_rules", "1",
		"--mca", "coll_tuned_bcast_algorithm", strconv.Itoa(number),
		"--mca", "coll_tuned_bcast_algorithm_segmentsize", strconv.Itoa(segment)})
	return NamedBcast{Bcast{Library: OpenMPI, Arguments: arguments}, name}
}

// pipelined is the ring that MPICH has for broadcasts that do not block, which the others can be told to use.
func pipelined(chunk int) []string {
	return []string{fmt.Sprintf("ring, %d KiB", chunk>>10), "BCAST_INTRA_ALGORITHM=nb", "IBCAST_INTRA_ALGORITHM=tsp_ring",
		"IBCAST_RING_CHUNK_SIZE=" + strconv.Itoa(chunk)}
}
