// Package simtest tests whole clusters in the simulator: many nodes, one goroutine, one seed. It has no code of its own
// to import yet; its tests show what the verbs layer and the simulator carry at scale.
package simtest
