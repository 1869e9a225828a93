// Package ibv is the provider for RDMA devices: InfiniBand and RoCE cards, and the kernel's Soft-RoCE, through libibverbs. The library is
// loaded at run time; without it, or without a device, [Open] says what is missing and what to do.
//
//	nic, err := ibv.Open(ibv.Config{}) // the best device that can be used
//	if err != nil {
//		return err // or take the software NIC: see the example
//	}
//	device, err := verbs.Open(nic) // what programs use; it closes the NIC
//
// From there on everything is in package verbs, as with any other provider. Two processes meet through package connect, where this
// provider's name is "ibv"; their addresses say all that their devices need, and nobody chooses a GID. Which devices are known to work and
// how they are set up is in docs/rdma.md, and weft doctor checks it.
//
// # What differs from the software NIC
//
//   - Memory is locked, twice if peers may reach it, and counts against the limit of the process (ulimit -l). Beyond it
//     Alloc and Register fail with verbs.ErrLimit.
//   - Nothing is encrypted, and remote keys have 32 bits: whoever is on the network of the device can try to guess them.
//   - Windows are the device's, and not every device has them (memory windows of type 2). Their keys can be guessed, too; but the device
//     ties a window to its queue pair, and lets nobody in but the peer of that. Memory is not to be closed while a Bind or Revoke of it
//     is under way: that may fail the queue pair.
//   - Limits are the device's. MaxMessage is 8 MiB on Soft-RoCE; there are no chains.
//   - Atomics are atomic among those of the device, not with the processor's.
//   - Each opened device listens on a TCP port of every address, by which an idle peer learns that this end is gone (package presence). It
//     must be reachable as the device is; where it is not, only what is posted finds out.
package ibv
