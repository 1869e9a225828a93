package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
)

// demoProviders are the values of --provider.
var demoProviders = []string{"inproc", "sim", "all"}

func newDemo() *cobra.Command {
	var provider string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the verbs at work: a write, a revocation, a refused write",
		Long: `Two nodes, alice and bob. Bob writes into alice's memory, without alice doing
anything. Alice revokes; from the completion on nothing of bob's can land. Bob
tries, and is refused. Both reset, connect again and go on.

The same code runs on the in-process lane of the software NIC, in real time, and
in the simulator, in virtual time with a timeline of every request.`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := newTeller(cmd.OutOrStdout(), asJSON)
			return demo(cmd.Context(), out, provider)
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "all", "where to run: inproc, sim or all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON event a line")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(demoProviders, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func demo(ctx context.Context, out *teller, provider string) error {
	if !slices.Contains(demoProviders, provider) {
		return usageError{fmt.Errorf("--provider %q: there are inproc, sim and all", provider)}
	}
	if provider != "sim" {
		if err := demoInProcess(ctx, out); err != nil {
			return fmt.Errorf("in-process lane: %w", err)
		}
	}
	if provider != "inproc" {
		if err := demoSimulated(ctx, out); err != nil {
			return fmt.Errorf("simulator: %w", err)
		}
	}
	return out.err
}

func demoInProcess(ctx context.Context, out *teller) error {
	out.title("inproc", "The software NIC, in-process lane: real memory, real time")
	return tellStory(ctx, out, func(name string) (driver.Device, error) { return soft.New(soft.Config{Name: name}) })
}

func demoSimulated(ctx context.Context, out *teller) error {
	out.title("sim", "The simulator: the same code, virtual time")
	line := &timeline{}
	fabric, err := sim.New(sim.Config{Seed: 1, Observe: line.add})
	if err != nil {
		return err
	}
	err = tellStory(ctx, out, func(name string) (driver.Device, error) {
		return fabric.NewDevice(sim.NodeConfig{Name: name})
	})
	if err != nil {
		return err
	}
	line.tell(out, []string{"alice", "bob"})
	return nil
}
