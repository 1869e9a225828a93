// Package peers measures what a program would take instead of Weft, and what the machine itself can do: UCX in shared
// memory and over TCP, plain Go over TCP, Go's copy, a cache line on its way between two cores. Every function takes one
// sample, in fresh processes, each pinned to a core.
package peers
