// Package groups runs multicast groups (package rdmc) in the simulator: a cluster of nodes, groups over any of them,
// contents that are made up from a message's number, and records of everything that the members were told.
//
//	cluster, err := groups.New(groups.Config{Nodes: 8, Fabric: sim.Config{Seed: 7}})
//	group, err := cluster.Group(groups.Spec{Nodes: []int{3, 0, 1, 2}, Config: rdmc.Config{BlockSize: 4096}})
//	group.Send(100_000)
//	cluster.Fabric.At(clock.Time(20*time.Microsecond), func() { cluster.Crash(1) })
//	err = cluster.Run(time.Second)
//	survivors, err := group.Repair()
//
// The members judge what they are told, as it happens: order, sizes, contents, that nothing comes twice and nothing after
// the end. What is wrong is collected in Cluster.Problems. A test asks for that in the end, and for what only it can know:
// who had to complete, and who had to fail.
//
// Everything runs in the goroutine that runs the fabric.
package groups
