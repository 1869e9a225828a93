// Package network makes hosts on one machine that have links of their own to a switch, each limited in both directions: a
// relay's sending and its receiving are two separate resources there, as on a NIC. It is for Linux, and needs root.
//
//	n, err := network.Up(network.Config{Racks: []int{4}, Rate: "200mbit"})
//	…
//	defer n.Close()
//	err = n.Command(ctx, 2, "weft", "multicast", "--serve", n.Address(2)+":7471", "--plain").Run()
//
// A host is a network namespace without a name, held by a process that ends when ours does, however that ends. So nothing
// is left behind, and many networks can stand beside each other, all with the same addresses.
//
// Choose a rate at which the processors are not the bottleneck: 200 Mbit/s with 16 hosts on two fast cores is safe, 100 on slow ones.
package network
