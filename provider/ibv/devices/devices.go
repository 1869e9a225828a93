// Package devices looks at the RDMA devices of a machine and chooses among them. It reads what the kernel shows below
// /sys, so it needs neither cgo nor libibverbs, and works in a static binary and in a diagnosis of a machine on which
// nothing else works.
//
// Three questions are answered here, each by a function without side effects on the machine:
//
//   - [Machine.List]: which devices, ports and GIDs are there?
//   - [Choose]: which port shall be used, or what has to be done so that one can be?
//   - [Match]: given the GIDs of both ends of a connection, which two are used? Both ends compute the same. [Reach] says
//     whether the way between them exists.
//
// A GID (global identifier) is the address of a port. On Ethernet (RoCE) each IP address of the port's network
// interface is one; the table of a port holds them, and a queue pair names its own by the index in that table.
package devices

import "net/netip"

// Limits on what is believed of a machine. What lies beyond is not seen.
const (
	maxDevices = 256
	maxPorts   = 255  // of a device; the InfiniBand architecture has no more
	maxEntries = 256  // of a table of GIDs; kernels have up to 1024, but libibverbs has eight bits for the index
	maxText    = 4096 // bytes of a file below /sys: a page
)

// Device is an RDMA device as the kernel shows it.
type Device struct {
	Name     string // such as mlx5_0 or rxe0
	Driver   string // such as mlx5_core or rxe; empty if the kernel does not tell
	Type     string // of the node: CA for InfiniBand and RoCE, RNIC for iWARP
	GUID     string // its identity in the world, such as 38b9:b8ff:fe71:f669
	Firmware string // its version; empty for software
	File     string // through which programs use it, such as /dev/infiniband/uverbs0; empty without module ib_uverbs
	Ports    []Port // by number
}

// LinkLayer is what a port is plugged into.
type LinkLayer string

// The link layers that RDMA knows.
const (
	Ethernet   LinkLayer = "Ethernet"
	InfiniBand LinkLayer = "InfiniBand"
)

// Active is the state of a port that can be used. Others are DOWN, INIT and ARMED.
const Active = "ACTIVE"

// Port is where a cable goes.
type Port struct {
	Number    int    // from 1
	State     string // Active or another
	Physical  string // state of the wire, such as LinkUp or Disabled
	LinkLayer LinkLayer
	Mbps      int    // its rate in 10^6 bits a second; 0: unknown
	LID       uint16 // its address in an InfiniBand subnet; 0 on Ethernet
	Link      Link   // the network interface of the same port; without a name if there is none to be seen
	GIDs      []GID  // those that are set, by index
}

// Link is a network interface.
type Link struct {
	Name      string
	MTU       int            // of a packet of IP, in bytes
	Addresses []netip.Prefix // each with the length of its subnet's prefix
}

// has returns the address of the link that equals ip.
func (l Link) has(ip netip.Addr) (netip.Prefix, bool) {
	for _, p := range l.Addresses {
		if p.Addr() == ip {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// leadsTo reports whether ip lies in a subnet of the link.
func (l Link) leadsTo(ip netip.Addr) bool {
	for _, p := range l.Addresses {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}
