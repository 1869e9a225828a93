// Package sweep simulates one multicast for each of many settings: groups of several sizes, messages, blocks, algorithms, on one
// kind of network. The command weft sim multicast is its face.
//
//	plan := sweep.Plan{Nodes: []int{64, 512}, Sizes: []uint64{256e6}, Algorithms: sweep.All(nil), Rate: 40e9}
//	cases, omitted, err := plan.Cases()
//	row, err := plan.Run(ctx, cases[0], cast.Watch{})
//	figure := plan.Figure(rows)
//
// What is not said is chosen by the cost model of package tune, with the true numbers of the simulated network, so that
// each algorithm shows what it can do.
package sweep
