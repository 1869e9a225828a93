package main

import "github.com/spf13/cobra"

// newSim is the parent of what runs in the simulator.
func newSim() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Simulate groups of up to 10,000, and the paper's experiments",
		Long: `The group code itself, on a simulated network in virtual time: the same seed
gives the same times, to the nanosecond, on every machine.`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSimMulticast(), newSimPaper(), newSimSchedule())
	return cmd
}
