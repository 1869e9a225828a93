package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/ripc/find"
)

// servicesOptions is what the command line of weft services says.
type servicesOptions struct {
	place  place
	asJSON bool
}

func newServices() *cobra.Command {
	var o servicesOptions
	cmd := &cobra.Command{
		Use:   "services",
		Short: "List the services that can be called, and where they are",
		Long: `Lists the services that are known where the flags say: on this host, on a
network, or in etcd. It takes the flags of weft call that say where.

PROCESS tells the processes that have services apart; it is not the system's
number of one. AT is where they listen.`,
		Example: `  weft services
  weft services --etcd host1:2379 --json`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.place.flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	return cmd
}

// serviceReport is what weft services tells of one.
type serviceReport struct {
	Name    string   `json:"name,omitempty"` // empty: it was drawn
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Epoch   uint64   `json:"epoch"`
	Process string   `json:"process"`
	At      []string `json:"at"`
}

func (o *servicesOptions) run(ctx context.Context, out io.Writer) (err error) {
	if err := o.place.check(); err != nil {
		return usageError{err}
	}
	r, err := o.place.resolver(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	records, err := r.List(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(records, func(a, b find.Record) int { return strings.Compare(a.Title(), b.Title()) })
	reports := []serviceReport{}
	for _, r := range records {
		reports = append(reports, serviceReport{Name: r.Name, ID: fmt.Sprintf("%x", r.Service[:]), Kind: r.Service.Kind().String(), Epoch: r.Epoch,
			Process: r.Process(), At: r.At})
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(struct {
			Services []serviceReport `json:"services"`
		}{reports})
	}
	return printServices(out, reports)
}

func printServices(out io.Writer, reports []serviceReport) error {
	if len(reports) == 0 {
		_, err := fmt.Fprintln(out, "There are none. 'weft serve-echo NAME' makes one, for trying things out.")
		return err
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVICE\tPROCESS\tAT")
	for _, r := range reports {
		name := r.Name
		if name == "" {
			name = r.ID
		}
		if r.Kind == "group" {
			name += " (group)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", printable.Clean(name, len(name)), r.Process, strings.Join(r.At, " "))
	}
	w.Flush()
	_, err := io.WriteString(out, text.String())
	return err
}
