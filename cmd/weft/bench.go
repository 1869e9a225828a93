package main

import "github.com/spf13/cobra"

// newBench is the parent of what measures, and of what shows it.
func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure side by side with others, and report what was measured",
		Long: `Measures what Weft must reach, beside what people use instead, and shows it.
What is measured can be recorded with --out, and shown again by 'weft bench
report'.

What measures, weft sim paper as well, ends with exit status 1 if a bound is
missed, a claim does not hold, or something could not be measured; the table
says what. If only bounds or claims are missed, what was asked for is printed,
drawn and kept all the same.`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchMulticast(), newBenchPush(), newBenchReport(), newBenchWaiting(), newBenchPlay())
	return cmd
}
