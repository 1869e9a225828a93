// Package multicast measures weft multicast beside what a program would take instead: the work of `weft bench multicast`. It
// prints each ratio beside what it must reach and what the last recorded run had, and keeps everything as JSON.
//
// On links of 200 Mbit/s, or 100 if the cores are too slow for that, between hosts that are made for it (package delivery: needs root), the others are one plain TCP
// copy, plain TCP to all, MPI_Bcast of Open MPI and MPICH, udpcast and BitTorrent. Each of their settings is tried once; the
// best of each kind takes part in rounds, in which everybody delivers once, so that pairs are taken close together. On one host
// it is MPI again, between processes. Results are medians of the ratios of pairs. Last come the rows for groups that no machine
// has (package simulated).
//
// Some bounds are out of reach of anybody on such links. What shows that is a row too, and where a bound is missed for that
// reason the row says so, with the numbers (limits.go).
package multicast
