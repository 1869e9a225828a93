// Package simulated measures those rows of the table of weft bench multicast that need more machines than one has: whole
// groups in virtual time, with the protocol itself.
package simulated
