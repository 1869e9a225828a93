// Package tune chooses how a group sends a message: which algorithm, blocks of what size, how many stripes and credits, and
// at what pace.
//
// It has two models of what a transfer costs. A formula, (k + ⌈log₂ n⌉ − 1) · (α + β·size/k) and its like for chains and
// stripes, ranks a few hundred choices in microseconds. The best of them are then played through: the schedules themselves,
// step by step, with the latency of each block and each credit, for a part of a large group and of a long message. What is
// played comes within a few per cent of what the simulator takes with the protocol itself: see the test over a grid in
// simtest/groups.
//
// Everything here is a pure function of what is known of the group and its network.
package tune
