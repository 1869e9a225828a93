// Package sim is a simulated RDMA fabric behind the interfaces of package driver: nodes with NICs, racks, switches,
// and a clock that moves when events happen. One goroutine runs it all; one seed decides everything that chance
// decides. The same seed and the same program give the same trace, event by event, so that a failure found once can be
// found again.
//
// # Use
//
//	fabric, err := sim.New(sim.Config{Seed: 7})
//	nic, err := fabric.NewDevice(sim.NodeConfig{Name: "a"})
//	device, err := verbs.Open(nic) // what programs use; and so on for the other nodes
//	fabric.At(clock.Time(time.Millisecond), func() { fabric.Crash("b") })
//	… make queue pairs, connect, post …
//	err = fabric.Run(clock.Time(time.Second))
//
// Time passes only in Step, Run, RunUntil and Wait of a completion queue. Loops that are driven get their turns from
// inside events. The first turn that returns an error stops the whole fabric, so that a test ends where its cause is: see
// Err, and ClearErr for programs that want to go on without that loop.
//
// Requests and configurations are taken to be as package verbs lets them through; what is wrong with them by themselves
// is not looked for again.
//
// # Model
//
// A message is posted, crosses PCIe, takes its NIC's engine for a moment, flows, travels, and lands; the answer travels
// back. Costs says what each step takes. Bytes flow through the sender's NIC, the rack's uplink and the other rack's
// downlink, and the receiver's NIC, at a max-min fair share of each; a stream of messages on one queue pair is one
// flow. Jitter makes a message's travel longer by chance, but messages of a queue pair do not overtake each other.
//
// A Bind or a Revoke takes its NIC's engine for a moment, as a message does, and has taken effect. Nothing travels for it.
//
// Both gates are asked at the moment of landing. A Read takes effect when its last byte leaves the responder, so that
// without Fence a Write behind it may land first, or not. Bytes are read when the last one leaves and written at one
// instant. A requester that fails, is reset or crashes does not call back what is on the wire: it may still land.
//
// When an end leaves its connection (an error, Reset, Close) the other end is told and goes to Error: its oldest
// outstanding request ends as RetryExceeded, the others as Flushed. A crashed or cut off end tells nobody; it is noticed
// within PeerTimeout.
//
// What is not modelled. No packet is lost or sent again, and there is no congestion control: shares are fair at once, and
// switches have neither buffers nor queues. Headers, acknowledgements and the requests of Reads take no part of a link. PCIe
// and memory have a latency but no rate. A NIC has no caches that many queue pairs or memories could overflow, and
// registering costs nothing. A program's own code takes no time: of a core only posting does, and waking its loop; taking
// completions delays them, but any number can be taken at once.
package sim
