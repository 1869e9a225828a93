// Package tune chooses how a group sends a message: which algorithm, blocks of what size, how many stripes and credits. It
// knows a model of what a transfer costs, computes the time of some hundred choices with it, and takes the best.
//
// Everything here is a pure function of what is known of the group and its network.
package tune
