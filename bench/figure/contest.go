package figure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/internal/printable"
)

// simulated is what the rows begin with that nobody has measured.
const simulated = "simulated: "

// fromContest makes figures of a contest's rows: one of those that were measured, and one of those that were simulated.
func fromContest(file string, record *Record) (all []*Figure) {
	var real, virtual []contest.Result
	for _, r := range record.Results {
		if strings.HasPrefix(r.What, simulated) {
			virtual = append(virtual, r)
		} else {
			real = append(real, r)
		}
	}
	title := printable.Clean(file, MaxWord)
	if len(real) > 0 {
		f := &Figure{Name: named(file), Title: "Side by side: " + title, Source: "measured", Text: printable.Clean(record.Method, MaxText)}
		all = append(all, f.with(real, record.Notes))
	}
	if len(virtual) > 0 {
		f := &Figure{Name: named(file + "-simulated"), Title: "Side by side: " + title + ", larger groups", Source: "simulated"}
		all = append(all, f.with(virtual, record.Simulated))
	}
	return all
}

// with adds rows and notes to a figure. What has a bound is a claim.
func (f *Figure) with(results []contest.Result, notes []string) *Figure {
	f.Table = &Table{Columns: contest.Columns()}
	for _, note := range shortened(notes, MaxNotes, moreNotes) {
		f.Notes = append(f.Notes, printable.Clean(note, MaxText))
	}
	for _, r := range results {
		row := r.Row()
		for i := range row {
			row[i] = printable.Clean(row[i], MaxLine)
		}
		f.Table.Rows = append(f.Table.Rows, row)
		if bounded, met := r.Judged(); bounded {
			f.Claims = append(f.Claims, claimOf(r, row, met))
		}
	}
	f.Claims = shortened(f.Claims, MaxClaims, moreClaims)
	return f
}

// shortened has at most so many: the last one then stands for all that are left out.
func shortened[T any](all []T, most int, rest func(left []T) T) []T {
	if len(all) <= most {
		return all
	}
	return append(slices.Clone(all[:most-1]), rest(all[most-1:]))
}

func moreNotes(left []string) string {
	return fmt.Sprintf("%d more notes are in the record only", len(left))
}

// moreClaims holds only if all of them do: a summary must not say so otherwise.
func moreClaims(left []Claim) Claim {
	missed := 0
	for _, c := range left {
		if !c.Holds {
			missed++
		}
	}
	return Claim{Text: fmt.Sprintf("%d more rows of the table", len(left)), Measured: fmt.Sprintf("%d of them are missed", missed), Holds: missed == 0, Why: "see the table"}
}

// claimOf tells a row of a contest as a claim.
func claimOf(r contest.Result, row []string, met bool) Claim {
	c := Claim{Text: row[0], Measured: row[1], Holds: met, Why: printable.Clean(reason(r), MaxReason)}
	if r.Peer != "" {
		c.Text += ", against " + printable.Clean(r.Peer, MaxLine)
	}
	if bound, _, found := strings.Cut(row[3], "  "); found {
		c.Text += ": " + strings.TrimSpace(bound+" "+printable.Clean(r.Unit, MaxWord))
	}
	if row[2] != "" {
		c.Spread = "between " + strings.Replace(row[2], "..", " and ", 1)
	}
	if r.MetByMedianOnly() {
		c.Spread += ": met by the median, not by all rounds"
	}
	if r.Failed != "" {
		c.Measured, c.Why = "failed", printable.Clean(r.Failed, MaxReason)
	}
	return c
}

// reason is why a row misses its bound: what whoever measured it knows, or what could be seen meanwhile.
func reason(r contest.Result) string {
	if r.Why == "" && r.Failed == "" && r.Others > 0 {
		return fmt.Sprintf("others used %.1f cores of the machine meanwhile: it has to be measured again", r.Others)
	}
	return r.Why
}

// named makes a figure's name of any text.
func named(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	if name == "" {
		return "results"
	}
	return name[:min(len(name), MaxWord)]
}
