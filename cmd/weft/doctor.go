package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/provider/ibv/devices"
)

// health is how something is.
type health string

const (
	ok      health = "ok"
	warning health = "warning" // works, but not as well as it could
	problem health = "problem" // something cannot be used
	absent  health = "absent"  // something is not there, and need not be
)

// finding is one line of what the doctor says.
type finding struct {
	Name  string `json:"name"`
	State health `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"` // what to do, as exactly as can be said
}

// doctorReport is what weft doctor tells programs.
type doctorReport struct {
	Version     string    `json:"weft"`
	Usable      bool      `json:"usable"`
	SameHost    choice    `json:"same_host"`
	AnotherHost choice    `json:"another_host"`
	Providers   []finding `json:"providers"`
	RDMA        []finding `json:"rdma"`
	System      []finding `json:"system"`
}

// choice is which provider will be used, and why.
type choice struct {
	Provider string `json:"provider"` // empty: none
	Why      string `json:"why"`
}

// errUnusable is the doctor's worst finding.
var errUnusable = errors.New("no other process can be reached: the lines above say why")

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at what this machine has, what will be used, and what to fix",
		Long: `Tries every provider by a real write, looks at the limits and kernel features
that they need, and says what will be used and why. Each line is ok, absent (and
not needed), a warning (it works, but not as well as it could) or a problem,
with what to do. WEFT_PROVIDER and WEFT_DEVICE are heeded, as weft perf does.

Exit status 0 if another process can be reached, 1 if none can, 2 if
WEFT_PROVIDER or WEFT_DEVICE is not understood.`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rdma := lookAtRDMA(os.Getenv("WEFT_DEVICE"), os.Getenv("WEFT_PROVIDER"))
			if err := checkEnvironment(rdma); err != nil {
				return usageError{err}
			}
			return printDoctor(cmd.OutOrStdout(), examine(cmd.Context(), rdma), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// checkEnvironment refuses words that nobody understands.
func checkEnvironment(rdma rdmaView) error {
	if asked := os.Getenv("WEFT_PROVIDER"); asked != "" && !slices.Contains(providerNames(), asked) {
		return fmt.Errorf("WEFT_PROVIDER %q: %w", asked, errProvider)
	}
	if errors.Is(rdma.refused, devices.ErrSyntax) {
		return fmt.Errorf("WEFT_DEVICE: %w", rdma.refused)
	}
	return nil
}

// examine looks at everything.
func examine(ctx context.Context, rdma rdmaView) doctorReport {
	r := doctorReport{Version: version, Providers: examineLanes(ctx, rdma), RDMA: rdma.examine()}
	r.SameHost, r.AnotherHost = chooseLanes(r.Providers, os.Getenv("WEFT_PROVIDER"))
	r.Usable = r.SameHost.Provider != "" || r.AnotherHost.Provider != ""
	for _, look := range []func() finding{examineKernel, examineCores, examineQuota, examineFiles,
		func() finding { return examineMemlock(len(rdma.devices) > 0) }, examineMemfd, examineUserfault, examineAbstract,
		func() finding { return examineLoopback("loopback IPv4", "tcp4", "127.0.0.1:0") },
		func() finding { return examineLoopback("loopback IPv6", "tcp6", "[::1]:0") }, examineHugePages} {
		r.System = append(r.System, look())
	}
	pointAt(r.Providers, r.System)
	return r
}

// pointAt says, for a provider that does not work, where the remedy stands: at what is wrong with the system.
func pointAt(providers, system []finding) {
	var wrong []string
	for _, state := range []health{problem, warning} {
		for _, f := range system {
			if f.State == state {
				wrong = append(wrong, f.Name)
			}
		}
	}
	fix := "nothing below explains it: report it, with what weft doctor --json prints"
	if len(wrong) > 0 {
		fix = "see below: " + strings.Join(wrong, ", ")
	}
	for i := range providers {
		if providers[i].State == problem && providers[i].Fix == "" {
			providers[i].Fix = fix
		}
	}
}

func printDoctor(out io.Writer, r doctorReport, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	} else if err := printReport(out, r); err != nil {
		return err
	}
	if !r.Usable {
		return errUnusable
	}
	return nil
}

func printReport(out io.Writer, r doctorReport) error {
	t := &teller{out: out}
	t.printf("Providers\n")
	printFindings(t, r.Providers)
	t.printf("\nWhat will be used\n")
	printWrapped(t, fmt.Sprintf("  to this host     %-8s ", orNone(r.SameHost.Provider)), r.SameHost.Why)
	printWrapped(t, fmt.Sprintf("  to another host  %-8s ", orNone(r.AnotherHost.Provider)), r.AnotherHost.Why)
	t.printf("\nRDMA\n")
	printFindings(t, r.RDMA)
	t.printf("\nThe system\n")
	printFindings(t, r.System)
	return t.err
}

func printFindings(t *teller, findings []finding) {
	for _, f := range findings {
		printWrapped(t, fmt.Sprintf("  %-8s %-16s ", f.State, f.Name), f.Text)
		if f.Fix != "" {
			printWrapped(t, strings.Repeat(" ", 28), "fix: "+f.Fix)
		}
	}
}

// printWrapped prints text in lines of 80 columns, between words, all of them behind what the first begins with.
func printWrapped(t *teller, begin, text string) {
	const columns = 80
	line := begin
	for i, word := range strings.Fields(text) {
		if i > 0 && utf8.RuneCountInString(line)+utf8.RuneCountInString(word) > columns {
			t.printf("%s\n", strings.TrimRight(line, " "))
			line = strings.Repeat(" ", utf8.RuneCountInString(begin))
		}
		line += word + " "
	}
	t.printf("%s\n", strings.TrimRight(line, " "))
}

func orNone(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

// good and its siblings make findings.
func good(name, format string, args ...any) finding {
	return finding{Name: name, State: ok, Text: fmt.Sprintf(format, args...)}
}

func (f finding) but(state health, fix string) finding {
	f.State, f.Fix = state, fix
	return f
}
