// Package simtest tests whole clusters in the simulator: many nodes, one goroutine, one seed. Its own tests show what the
// verbs layer and the simulator carry at scale; package groups is for clusters of multicast groups.
package simtest
