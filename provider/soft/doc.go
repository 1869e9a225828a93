// Package soft is a NIC in software: a provider for package verbs that needs no hardware, no driver and no privilege.
//
// Devices of one process reach each other in-process: the goroutine that posts a request carries it out on the peer's
// memory, under the peer's permissions, while the peer does nothing at all. A Write is a copy, an atomic is a CPU
// atomic, a Send is one copy straight into the posted buffer.
//
//	nic, err := soft.New(soft.Config{})
//	if err != nil {
//		return err
//	}
//	device, err := verbs.Open(nic) // what programs use; it closes the NIC
//
// # Who does the work
//
// Post carries a request out at once if it can. What is left over (a message above 1 MiB, a Send that found no receive,
// a chained request) is carried on by Poll and Wait of the same completion queue. Only when its owner stays away for a
// while does the device's own goroutine work in its place. A peer's goroutine never does: it leaves a mark and rings.
//
// # How it is built
//
// A completion queue and its queue pairs belong to one goroutine at a time; one mutex for each completion queue keeps
// the device's goroutine out meanwhile. Between two queue pairs there is no lock. Each shows its peer an end: a block
// of atomic words with a gate (gate.go), and rings with one producer and one consumer. An end lives from one Reset to
// the next and is never used again, so that a peer that is late finds it closed and not somebody else's.
//
// Locks are taken in this order: memory, completion queue, then one of device, key table, shared receives, chain and the
// goroutine's inbox; a domain's last. Who waits for a gate may hold the lock of its own completion queue: whoever is
// inside never takes it.
//
// Control words hold no Go pointers. Here they lie on the Go heap, where the race detector sees them; the same words
// can be placed in memory that processes share.
package soft
