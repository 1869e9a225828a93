// Package soft is a NIC in software: a provider for package verbs that needs no hardware, no driver and no privilege.
//
// It has three lanes, and takes for each connection the best that leads to the peer and that both ends allow
// ([Config.Lanes]):
//
//   - [InProcess]: the goroutine that posts a request carries it out on the peer's memory, under the peer's permissions,
//     while the peer does nothing at all. A Write is a copy, an atomic is a CPU atomic, a Send is one copy straight into
//     the posted buffer.
//   - [SharedMemory]: the same between processes of one user on one host. The target may even be stopped.
//   - [TCP]: everybody else, also other users of this host by a Unix socket. The target checks every request and reads
//     from the socket straight into the registered memory; the sender writes straight out of it.
//
// The first needs nothing:
//
//	nic, err := soft.New(soft.Config{Lanes: soft.AllLanes})
//	if err != nil {
//		return err
//	}
//	device, err := verbs.Open(nic) // what programs use; it closes the NIC
//
// # Who does the work
//
// Post carries a request out at once if it can. What is left over (a message above 1 MiB, a Send that found no receive,
// a chained request, what a socket did not take) is carried on by Poll and Wait of the same completion queue. Only when
// its owner stays away for a while does a goroutine of the device work in its place. A peer's goroutine never does: it
// leaves a mark and rings.
//
// # How it is built
//
// A completion queue and its queue pairs belong to one goroutine at a time; one mutex for each completion queue keeps
// the device's goroutines out meanwhile. Between two queue pairs there is no lock. Each shows its peer an end: a block
// of atomic words with a gate (gate.go), and rings with one producer and one consumer. An end lives from one Reset to
// the next and is not used again while a peer may look at it, so that one who is late finds it closed and not somebody
// else's.
//
// Locks are taken in this order: memory, completion queue, then one of device, key table, chain and the goroutines'
// inboxes, or, to put out a neighbour that stands still, its tie's, then those of the file whose pages are moved; then a
// neighbour's, its outbox's, the arena's; a domain's last. Who waits for a gate may hold the lock of its own completion
// queue: whoever is inside never takes it.
//
// What a window lends stands in a table of its queue pair (loan.go), and a requester looks only in that of its peer. The key
// says where, so that lending costs no question to anybody. It is asked inside the gate like all the rest: who takes it back
// waits for one visitor at most.
//
// Control words hold no Go pointers. They lie on the Go heap, where the race detector sees them, or, if the device has
// the lane for shared memory, in an arena (place.go) that neighbours map.
//
// # What it costs
//
// Shared memory takes a socket and a mapping for each neighbouring device, an event descriptor for each of its completion
// queues, a descriptor for each registered memory, and for a queue pair only memory: a few KiB, and its receives. TCP
// takes a descriptor for each queue pair.
package soft
