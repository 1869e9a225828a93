// Package delivery has one object delivered from one host to all others, over limited links, by whoever takes part in a
// comparison: weft multicast, MPI_Bcast of Open MPI and MPICH, udpcast, BitTorrent (aria2), plain TCP. Each is run as
// somebody would run it who knows it well, in processes of its own; what arrives is checked; and all are measured alike:
//
//   - The time, by the contestant's own clock where it has one, from the first byte to the last at the last receiver.
//     Where it has none (udpcast, BitTorrent) the counters of the links tell when the first and the last byte arrived.
//
//   - Whole is the time from the start of the first process: with everything that a contestant does before it sends.
//
//   - CPU is what its processes have used during the delivery, by their own account (weft, MPI); AllCPU is what all have
//     used from their start to the end, with making the object and checking it. What the kernel does for the network on its
//     own account (softirq) is in neither.
//
//     f, err := delivery.Open(7, "200mbit")
//     …
//     defer f.Close()
//     sample, err := f.Deliver(ctx, delivery.Weft("pipeline", 0), delivery.Load{Bytes: 32 << 20, Repeats: 1})
//
// Every delivery has a control group of its own. Before it begins the cores are idle, and the memory that it will use is at hand, up to
// half of what there is; when it ends its processes are gone, also those that lost their parents, and so is what arrived. It needs root, for
// package network too.
package delivery
