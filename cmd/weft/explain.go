package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/hosts"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

func newExplain() *cobra.Command {
	o, last := &pushOptions{}, false
	cmd := &cobra.Command{
		Use:   "explain SRC... DEST -w HOSTS | explain --last",
		Short: "Say how a push would go, or what held up the last one",
		Long: `Says what 'weft push' with the same arguments would do: who sends which block to
whom, how long it takes at best, and how long it should take. Hosts are asked as
with 'weft push -n', and nothing is changed.

With --last it says what the last push has achieved: how near it came to the
best, which hosts were slow, and which hop held it up.`,
		Example: `  weft explain model.bin -w 'node[01-64]' models/ --keys pusher.pem
  weft explain --last`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last {
				return o.explainLast(cmd, args)
			}
			return o.explain(cmd, args)
		},
	}
	o.addTargets(cmd)
	o.addTransfer(cmd)
	cmd.Flags().BoolVar(&last, "last", false, "explain the last push of this user")
	return cmd
}

func (o *pushOptions) explain(cmd *cobra.Command, args []string) error {
	s, err := o.settings(cmd, args)
	if err != nil {
		return usageError{err}
	}
	s.config.DryRun = true
	return s.withAgents(cmd.Context(), s.explain)
}

// explain says how it would go.
func (s *pushSettings) explain(ctx context.Context) error {
	show := s.newShow()
	show.planned, show.folded = true, true
	report, err := s.watched(ctx, show, push.Run)
	if report == nil {
		return err
	}
	plain := !s.asJSON && !s.mute
	if plain && report.Plan != nil {
		show.print(planLines(report.Plan, width(s.out)))
		show.keep(drawPlan(s.out, report))
		show.print([]string{""})
	}
	if plain {
		show.print(s.dryLines(report))
	}
	return errors.Join(s.failure(ctx, report), show.err)
}

// shownBlocks is how many blocks a schedule is shown with: who sees some sees how it goes on.
const shownBlocks = 4

// drawPlan shows who sends which block to whom, if that can be shown.
func drawPlan(out io.Writer, r *push.Report) error {
	p := r.Plan
	blocks := shownBlocks
	if p.Block > 0 {
		blocks = int(max(1, min((p.Bytes+uint64(p.Block)-1)/uint64(p.Block), shownBlocks)))
	}
	algorithm, err := schedule.ParseAlgorithm(p.Algorithm)
	if err != nil {
		return fmt.Errorf("the plan: %w", err)
	}
	if p.Hosts+1 > maxShownMembers {
		return nil
	}
	view, err := newScheduleView(schedule.Config{Algorithm: algorithm, Members: p.Hosts + 1, Stripes: min(p.Stripes, blocks)}, p.RackOf, blocks)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe schedule, for %s. Member 0 pushes, then come %s.\n\n", counted(blocks, "block"), shown(inOrder(p.Members)))
	return view.print(out, false)
}

// inOrder names hosts in their order, folded where that leaves it as it is.
func inOrder(names []string) string {
	folded := hosts.Fold(names)
	all, err := hosts.Parse([]string{folded}, nil)
	if err != nil || !slices.EqualFunc(all, names, func(h hosts.Host, name string) bool { return h.String() == name }) {
		return strings.Join(names, ", ")
	}
	return folded
}

// explainLast says what the last push has achieved.
func (o *pushOptions) explainLast(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{errors.New("--last takes no SRC, and no DEST: it explains the push that was")}
	}
	last, err := readLast()
	if err != nil {
		return err
	}
	switch {
	case o.asJSON:
		return json.NewEncoder(cmd.OutOrStdout()).Encode(last)
	case o.mute:
		return nil
	}
	return o.printLast(cmd.OutOrStdout(), last)
}

func (o *pushOptions) printLast(w io.Writer, last *lastPush) error {
	out, columns := bufio.NewWriter(w), width(w)
	fmt.Fprintln(out, row("pushed", "%s: %s", last.Time.Format(time.DateTime), last.Command))
	if last.Report.Plan != nil {
		printLines(out, planLines(last.Report.Plan, columns))
	}
	printLines(out, inColumns(resultLines(last.Report), columns))
	printLines(out, wrapped("ended by", last.Report.Error, columns))
	printLines(out, inColumns(failures(last.Report), columns))
	if table := hopTable(last.Report, o.verbose); last.Report.Sending > 0 && len(table.Rows) > 0 {
		fmt.Fprintln(out)
		if err := table.Print(out); err != nil {
			return err
		}
	}
	return out.Flush()
}

func printLines(out io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
}

// known is a rate, to be sorted: what nobody knows comes last.
func known(rate float64) float64 {
	if rate > 0 {
		return rate
	}
	return math.Inf(1)
}

// shownHops is how many hops are shown, unless all are asked for.
const shownHops = 10

// hopTable has the slowest hops, with their rates while blocks were on the wire.
func hopTable(r *push.Report, all bool) *figure.Table {
	hops := slices.Clone(r.Hops)
	slices.SortStableFunc(hops, func(a, b push.HopReport) int { return cmp.Compare(known(a.Rate), known(b.Rate)) })
	t := &figure.Table{Columns: []string{"hop, slowest first", "sent", "while on the wire"}}
	for i, h := range hops {
		if i == shownHops && !all {
			t.Rows = append(t.Rows, []string{fmt.Sprintf("and %d that %s faster: -v", len(hops)-i, wasOrWere(len(hops)-i)), "", ""})
			break
		}
		t.Rows = append(t.Rows, []string{shown(h.From + " → " + h.To), units.Bytes(h.Bytes), bytesPerSecond(h.Rate)})
	}
	return t
}
