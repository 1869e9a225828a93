package main

import "github.com/spf13/cobra"

// newBench is the parent of what measures, and of what shows it.
func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure side by side with others, and report what was measured",
		Args:  noMore,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchMulticast(), newBenchReport(), newBenchWaiting(), newBenchPlay())
	return cmd
}
