// Package paper repeats the experiments of "Pushing Bytes: Cloud-Scale Data Replication with RDMC", section 5, with the real
// group code (package rdmc) on a simulated network, in virtual time. Each figure and table of the paper is a Scenario by
// the name it has there:
//
//	scenario, err := paper.Find("fig8")
//	figure, err := scenario.Run(ctx, paper.Options{})
//	err = figure.Print(os.Stdout)
//
// What comes back has the paper's axes, the numbers, and what the paper claims beside what was measured. The tests of this
// package fail if a claim does not hold.
//
// The network is that of package sim: rates are the paper's, costs of a message those of a NIC of today. So ratios and shapes
// can be compared with the paper's, and absolute times only where bytes on links make them.
package paper
