// Package waiting measures what waiting costs: the same multicast between real processes whose members poll, sleep or do a
// little of both (RDMC, sections 4.2 and 5.2.3, figure 11), and whose blocks are relayed by the members' loops or by chains of
// requests that start at an arrival (section 4.4, figure 12). What is measured is the rate and the processor time.
//
//	figures, err := waiting.Run(ctx, waiting.Options{Weft: "bin/weft", Rounds: 3})
//
// Members are processes of weft multicast on this host, joined by shared memory or TCP, and, with root's rights, on hosts with
// limited links (package network), where there is most to wait for. All ways to wait take turns in every round, so that what
// else happens on the machine happens to all; ratios are taken within a round.
//
// The processor time is that of the members' processes, user and system, from a run's beginning to its end. What the kernel
// does for the network in the name of nobody is not in it.
package waiting
