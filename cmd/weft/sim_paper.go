package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/bench/paper"
	"github.com/weft-fabric/weft/internal/printable"
)

// simPaperOptions are the flags of weft sim paper.
type simPaperOptions struct {
	seed                uint64
	plot, record        string
	short, asJSON, mute bool
}

func newSimPaper() *cobra.Command {
	o := &simPaperOptions{}
	cmd := &cobra.Command{
		Use:   "paper [NAME... | all]",
		Short: "Repeat the RDMC paper's experiments, each with what it must show",
		Long: `Each figure and table of section 5 of "Pushing Bytes: Cloud-Scale Data
Replication with RDMC" is an experiment that can be repeated here: with the real
group code, on a simulated network of the paper's rates, in virtual time. A
table of the numbers comes out, and each claim of the paper beside what was
measured.

Without a name it lists the experiments. Exit status 1 if a claim does not hold.`,
		Example: `  weft sim paper
  weft sim paper fig8 --plot fig8.svg
  weft sim paper all --out paper.json --plot paper.html`,
		ValidArgs: paperNames(),
		RunE:      func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.short, "short", false, "less of everything, in a few seconds; the claims are the same")
	f.Uint64Var(&o.seed, "seed", 0, "`N` that chance depends on")
	f.StringVar(&o.plot, "plot", "", "draw them, to `FILE`.svg or FILE.html, or each into a directory")
	f.StringVar(&o.record, "out", "", "keep them in `FILE`.json, for weft bench report")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object")
	f.BoolVarP(&o.mute, "quiet", "q", false, "no progress line, no word of files that were written")
	return cmd
}

func paperNames() []string {
	names := []string{"all"}
	for _, s := range paper.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

func (o *simPaperOptions) run(cmd *cobra.Command, args []string) error {
	scenarios, err := o.scenarios(args)
	if err := errors.Join(err, o.checkFiles(cmd)); err != nil {
		return usageError{err}
	}
	if len(scenarios) == 0 {
		return o.list(cmd.OutOrStdout())
	}
	show := &paperShow{out: cmd.OutOrStdout(), asJSON: o.asJSON, report: paperReport{Version: version, Seed: o.seed, Short: o.short, Figures: []*figure.Figure{}}}
	show.progress = newProgress(cmd.ErrOrStderr(), o.mute, show.far.line)
	if err := show.run(cmd.Context(), scenarios, o); err != nil {
		return err
	}
	if err := o.keep(cmd.ErrOrStderr(), args, show.report.Figures); err != nil {
		return err
	}
	return show.verdict()
}

// checkFiles says early what could not be written in the end.
func (o *simPaperOptions) checkFiles(cmd *cobra.Command) error {
	if cmd.Flags().Changed("out") && filepath.Ext(o.record) != ".json" {
		return fmt.Errorf("--out %q: write FILE.json", o.record)
	}
	return checkPlot(cmd, o.plot)
}

// checkPlot says early that --plot names no file that could be written.
func checkPlot(cmd *cobra.Command, path string) error {
	if !cmd.Flags().Changed("plot") {
		return nil
	}
	if err := figure.CheckPath(path); err != nil {
		return fmt.Errorf("--plot %w", err)
	}
	return nil
}

// asPlot is an error of what would be drawn as one of the flag that asks for it.
func asPlot(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--plot %s: %w", path, err)
}

// wrote says that there is a file now.
func wrote(errs io.Writer, mute bool, path string) error {
	if mute {
		return nil
	}
	_, err := fmt.Fprintf(errs, "weft: wrote %s\n", printable.Clean(path, len(path)))
	return err
}

// scenarios are those that were named, each once, in the order of the paper.
func (o *simPaperOptions) scenarios(names []string) ([]paper.Scenario, error) {
	all := paper.Scenarios()
	if len(names) == 0 && (o.plot != "" || o.record != "") {
		return nil, errors.New("which experiment? Name one, or all; 'weft sim paper' lists them")
	}
	for _, name := range names {
		if _, err := paper.Find(name); err != nil && name != "all" {
			return nil, fmt.Errorf("%w; or all", err)
		}
	}
	if slices.Contains(names, "all") {
		return all, nil
	}
	return slices.DeleteFunc(all, func(s paper.Scenario) bool { return !slices.Contains(names, s.Name) }), nil
}

// paperScenario is what programs are told of an experiment.
type paperScenario struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Section string `json:"section"`
	Claim   string `json:"claim"`
}

// list says which experiments there are.
func (o *simPaperOptions) list(out io.Writer) error {
	var all []paperScenario
	for _, s := range paper.Scenarios() {
		all = append(all, paperScenario{s.Name, s.Title, s.Section, s.Claim})
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(map[string]any{"weft": version, "experiments": all})
	}
	var text strings.Builder
	for _, s := range all {
		name := s.Name
		for _, line := range append(printable.Wrap(fmt.Sprintf("%s (section %s)", s.Title, s.Section), 72), printable.Wrap(s.Claim, 70)...) {
			fmt.Fprintf(&text, "%-7s %s\n", name, line)
			name = ""
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// keep writes what was asked for to files.
func (o *simPaperOptions) keep(errs io.Writer, args []string, figures []*figure.Figure) error {
	command := o.command(args)
	record := figure.NewRecord(version, command)
	record.Figures = figures
	if o.record != "" {
		if err := figure.Save(o.record, record); err != nil {
			return err
		}
		if err := wrote(errs, o.mute, o.record); err != nil {
			return err
		}
	}
	if o.plot == "" {
		return nil
	}
	about := []string{"Simulated, in virtual time. Repeat it with: " + command}
	if err := figure.Draw(o.plot, "The RDMC paper's experiments", about, figures...); err != nil {
		return err
	}
	return wrote(errs, o.mute, o.plot)
}

// command is what repeats the experiments.
func (o *simPaperOptions) command(args []string) string {
	words := append([]string{"weft sim paper"}, args...)
	if o.short {
		words = append(words, "--short")
	}
	if o.seed != 0 {
		words = append(words, fmt.Sprint("--seed ", o.seed))
	}
	return strings.Join(words, " ")
}
