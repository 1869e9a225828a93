package peers

import "strconv"

// segments are the sizes that a message is cut into, for the algorithms that cut; 0: not at all.
var segments = []int{1 << 20, 4 << 20, 256 << 10, 0, 64 << 10}

// BcastsInSharedMemory are the ways of Open MPI between processes of one host: all algorithms of its "tuned" component, with
// one copy by the kernel (CMA) and with two through shared memory, and its other components. What was fast comes first.
func BcastsInSharedMemory() []Bcast {
	shared := func(more ...string) Bcast {
		return Bcast{Library: OpenMPI, Arguments: append([]string{"--mca", "pml", "ob1", "--mca", "btl", "vader,self"}, more...)}
	}
	var all []Bcast
	for _, copies := range []string{"none", "cma"} {
		for _, tuned := range tunedAlgorithms() {
			all = append(all, shared(append([]string{"--mca", "btl_vader_single_copy_mechanism", copies}, tuned...)...))
		}
	}
	return append(all, shared(), shared("--mca", "coll_adapt_priority", "100"), shared("--mca", "coll_han_priority", "100"),
		shared("--mca", "coll_sm_priority", "100"))
}

// BcastsOverTCP are the ways of Open MPI and MPICH over loopback.
func BcastsOverTCP() []Bcast {
	ucx := []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}
	tcp := []string{"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"}
	var all []Bcast
	for _, tuned := range tunedAlgorithms() {
		all = append(all, Bcast{Library: OpenMPI, Arguments: append(append([]string{}, tcp...), tuned...)})
	}
	all = append(all, Bcast{Library: OpenMPI, Arguments: tcp},
		Bcast{Library: OpenMPI, Variables: ucx, Arguments: []string{"--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"}})
	for _, algorithm := range []string{"auto", "binomial", "nb", "smp", "scatter_recursive_doubling_allgather", "scatter_ring_allgather"} {
		all = append(all, Bcast{Library: MPICH, Variables: append([]string{"MPIR_CVAR_BCAST_INTRA_ALGORITHM=" + algorithm}, ucx...)})
	}
	return all
}

// tunedAlgorithms are the arguments for all algorithms of Open MPI's "tuned" component. What was fast comes first.
func tunedAlgorithms() (all [][]string) {
	const linear, chain, pipeline, splitBinary, binary, binomial, knomial, scatter, ring = 1, 2, 3, 4, 5, 6, 7, 8, 9
	order := []int{binary, pipeline, chain, linear, splitBinary, binomial, knomial, scatter, ring}
	for _, segment := range segments {
		for _, algorithm := range order {
			all = append(all, []string{"--mca", "coll_tuned_use_dynamic_rules", "1",
				"--mca", "coll_tuned_bcast_algorithm", strconv.Itoa(algorithm),
				"--mca", "coll_tuned_bcast_algorithm_segmentsize", strconv.Itoa(segment)})
		}
	}
	return all
}
