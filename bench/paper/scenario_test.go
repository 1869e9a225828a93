package paper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/simtest/groups"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Every claim of the paper that we know has to hold.
func TestScenarios(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			f, err := s.Run(t.Context(), Options{Short: testing.Short()})
			check(t, err)
			var text strings.Builder
			check(t, f.Print(&text))
			t.Log(text.String())
			if len(f.Claims) == 0 {
				t.Error("it claims nothing")
			}
			for _, c := range f.Claims {
				if !c.Holds {
					t.Errorf("%s: %s", c.Text, c.Measured)
				}
			}
			if len(f.Charts)+len(f.Bars) == 0 || f.Table == nil {
				t.Error("it shows nothing")
			}
			checkLooks(t, f, text.String())
		})
	}
}

// checkLooks sees that a figure fits a terminal, and that titles begin as titles do.
func checkLooks(t *testing.T, f *figure.Figure, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	titles := []string{f.Title}
	for _, c := range f.Charts {
		titles = append(titles, c.Title)
	}
	for _, b := range f.Bars {
		titles = append(titles, b.Title)
	}
	for _, title := range titles {
		if title != printable.Capital(title) {
			t.Errorf("a title begins small: %s", title)
		}
	}
}

// The title says the size that the text says, also if that is less than the paper's.
func TestTitleOfAShortRun(t *testing.T) {
	s := figure8()
	f, err := s.Run(t.Context(), Options{Short: true})
	check(t, err)
	if want := "64 MiB to up to 511 receivers on Sierra"; f.Title != want || f.Charts[0].Title != want || !strings.HasPrefix(f.Text, "One message of 64 MiB ") {
		t.Errorf("%q, %q: %s", f.Title, f.Charts[0].Title, f.Text)
	}
	if s.Title != "256 MiB to up to 511 receivers on Sierra" {
		t.Errorf("the experiment is now %q", s.Title)
	}
}

// Sizes that are powers of two are not called by the unit of powers of ten: of those only 100 MB is sent.
func TestTitlesHaveUnits(t *testing.T) {
	for _, s := range Scenarios() {
		if rest := strings.ReplaceAll(s.Title, "100 MB", ""); strings.Contains(rest, " MB") || strings.Contains(rest, " KB") {
			t.Errorf("%s: %s", s.Name, s.Title)
		}
	}
}

// Table 1 has the time of member 3, figure 5 that of all: with two stripes another is the last, which figure 5 has to say.
func TestTheSameTransferTwice(t *testing.T) {
	e := stepwise()
	e.stripes = 2
	r := run(t, e)
	if r.at[farthest] == r.last {
		t.Error("member 3 is the last: figures 5 and table 1 have the same times")
	}
	f, err := figure5().Run(t.Context(), Options{})
	check(t, err)
	if got := f.Table.Rows[1]; got[0] != "two stripes" || got[1] != micros(r.last) || !strings.Contains(f.Text, "until all members have the message") {
		t.Errorf("%v, %v at the last: %s", got, r.last, f.Text)
	}
}

func TestFind(t *testing.T) {
	for _, s := range Scenarios() {
		found, err := Find(s.Name)
		check(t, err)
		if found.Title != s.Title || s.Title == "" || s.Section == "" || s.Claim == "" {
			t.Errorf("%s is %+v", s.Name, s)
		}
	}
	if _, err := Find("fig1"); err == nil || !strings.Contains(err.Error(), "fig4a, fig4b") {
		t.Errorf("fig1: %v", err)
	}
}

// A scenario ends when its context does, between experiments and in the middle of one.
func TestScenarioEndsWithItsContext(t *testing.T) {
	for _, s := range Scenarios() {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Run(ctx, Options{Short: true, Progress: func(int, int) { cancel() }})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with %v", s.Name, err)
		}
	}
}

func TestExperimentEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := experiment{members: 16, size: gib}
	err := e.with(func(c *groups.Cluster) error {
		g, err := e.form(ctx, c)
		check(t, err)
		cancel()
		g.Send(e.size)
		before := c.Fabric.Events()
		err = until(ctx, c, g.Done)
		if n := c.Fabric.Events() - before; n > lookEvery {
			t.Errorf("it ended after %d events", n)
		}
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func run(t *testing.T, e experiment) result {
	t.Helper()
	r, err := e.run(t.Context())
	check(t, err)
	return r
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
