// Package ibv is the provider for RDMA devices: InfiniBand and RoCE cards, and the kernel's Soft-RoCE, through libibverbs. The library is
// loaded at run time; without it, or without a device, [Open] says what is missing.
package ibv
