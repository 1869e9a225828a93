package waiting

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestSample(t *testing.T) {
	const good = `{"size":1000000,"results":[{"warm_up":true,"seconds":9,"cpu_seconds":9},
		{"seconds":0.5,"cpu_seconds":0.5,"verified":true},{"seconds":1,"cpu_seconds":1,"verified":true},{"seconds":0.5,"cpu_seconds":0.5,"verified":true}]}`
	var r castReport
	if err := json.Unmarshal([]byte(good), &r); err != nil {
		t.Fatal(err)
	}
	got, err := r.sample()
	if want := (sample{rate: 2e6, perGB: 2e3 / 3, cores: 1}); err != nil || got.rate != want.rate || got.cores != want.cores ||
		got.perGB < want.perGB*0.999 || got.perGB > want.perGB*1.001 {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for text, says := range map[string]string{
		`{"size":1000}`:                "no result",
		`{"size":1000,"results":[{}]}`: "without a result",
		`{"size":1000,"results":[{"seconds":1,"cpu_seconds":1}]}`:                 "without a result",
		`{"size":1000,"results":[{"seconds":1,"verified":true}]}`:                 "older",
		`{"size":0,"results":[{"seconds":1,"cpu_seconds":1,"verified":true}]}`:    "no result",
		`{"size":1,"results":[{"warm_up":true,"cpu_seconds":1,"verified":true}]}`: "no result",
		`{"size":1,"results":[{"seconds":-1,"cpu_seconds":1,"verified":true}]}`:   "without a result",
	} {
		var r castReport
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if _, err := r.sample(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// In every round each setting has its turn, and those that are compared stand together.
func TestTurn(t *testing.T) {
	all := settings()
	began := map[string]bool{}
	for round := range 2 * len(waits) {
		turned := turn(all, round)
		began[turned[0].wait] = true
		for _, s := range all {
			at := slices.Index(turned, s)
			if at < 0 || at/len(waits) != slices.Index(all, s)/len(waits) {
				t.Errorf("round %d: %v is at %d", round, s, at)
			}
		}
	}
	if len(began) != len(waits) {
		t.Errorf("only %v ever began", began)
	}
}

// made makes up samples: sleeping has so much of the others' rate and processor time.
func made(all []*place, slower, cheaper float64) samples {
	taken := samples{}
	for _, p := range all {
		for _, s := range settings() {
			for round := range 3 {
				one := sample{rate: 1e9 + float64(round), perGB: 10, cores: 1}
				if s.wait == hybrid {
					one.perGB = 8
				}
				if s.wait == sleeping {
					one.rate, one.perGB = one.rate*slower, one.perGB*cheaper
				}
				if s.chains && s.size == middle {
					one.rate *= 1.5
				}
				taken[key{p.name, s}] = append(taken[key{p.name, s}], one)
			}
		}
	}
	return taken
}

func TestClaims(t *testing.T) {
	all := []*place{{name: "shm"}, {name: "tcp"}, {name: "links", links: &links{}}}
	for _, c := range []struct {
		slower, cheaper float64
		broken          []string
	}{
		{1, 0.3, nil},
		{0.7, 0.3, []string{"100 MB: sleeping costs little"}},
		{0.4, 0.3, []string{"100 MB: sleeping costs little", "10 KB: sleeping still"}},
		{1, 0.6, []string{"100 MB on limited links: sleeping"}},
		{1, 1.2, []string{"100 MB on limited links: sleeping", "100 MB within a host: sleeping"}},
	} {
		f := made(all, c.slower, c.cheaper).ratios(all, nil)
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
		for _, claim := range f.Claims {
			broken := slices.ContainsFunc(c.broken, func(text string) bool { return strings.HasPrefix(claim.Text, text) })
			if claim.Holds == broken {
				t.Errorf("%.1f and %.1f: %+v", c.slower, c.cheaper, claim)
			}
		}
	}
	without := made(all[:2], 1, 0.3).ratios(all[:2], errors.New("no\nroot"))
	if i := slices.IndexFunc(without.Claims, func(c figure.Claim) bool { return c.Measured == "not measured" }); i < 0 ||
		without.Claims[i].Holds || without.Claims[i].Why != "without limited links: no root" || without.Validate() != nil {
		t.Errorf("without links: %+v", without.Claims)
	}
}

// What a claim says was measured is in the table, digit by digit.
func TestClaimsAreInTheTable(t *testing.T) {
	all := []*place{{name: "shm"}, {name: "links", links: &links{}}}
	f := made(all, 0.7999, 0.6).ratios(all, nil)
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	rows := slices.Clone(f.Table.Rows)
	for _, c := range f.Claims {
		for _, said := range strings.Split(c.Measured, ", ") {
			row := rows[0]
			rows = rows[1:]
			if want := row[1] + " " + row[2] + " (" + row[3] + " to " + row[4] + ")"; !strings.HasPrefix(said, want) || c.Holds && row[6] != "met" {
				t.Errorf("%s: %q, and the table has %q", c.Text, said, row)
			}
		}
	}
	if len(rows) > 0 {
		t.Errorf("of no claim are %q", rows)
	}
	const missed = "shm 0.79990 × (0.79990 to 0.79990) ✗ missed here, links" // and not 0.80 of at least 0.8
	if c := f.Claims[1]; c.Holds || !strings.HasPrefix(c.Measured, missed) {
		t.Errorf("%+v, want %q", c, missed)
	}
}

// Among several places those are marked that miss a bound, or of which only the median meets it.
func TestPlacesAreMarked(t *testing.T) {
	c := comparison{text: "cheap", name: "cheap", of: by(sleeping, large), with: waitingBy(polling), value: processors, bound: 1.1, atMost: true}
	places, taken := []*place{{name: "shm"}, {name: "tcp"}, {name: "links"}}, samples{}
	for i, ratios := range [][]float64{{1, 1, 1.05}, {1, 1, 1.2}, {1, 1.2, 1.2}} {
		for _, s := range settings() {
			for _, r := range ratios {
				if s.wait == polling {
					r = 1
				}
				k := key{places[i].name, s}
				taken[k] = append(taken[k], sample{perGB: r})
			}
		}
	}
	all := c.judge(taken, places)
	const want = "shm 1 × (1 to 1.050), tcp 1 × (1 to 1.2) by the median only, links 1.2 × (1 to 1.2) ✗ missed here"
	if claim := c.claim(all, nil); claim.Holds || claim.Measured != want {
		t.Errorf("%+v, want %q", claim, want)
	}
	for i, want := range []string{"met", "met by the median", "MISSED"} {
		if row := c.row(all[i]); row[6] != want {
			t.Errorf("%q, want %q", row, want)
		}
	}
}

// The table of what was measured has a row for every setting but the ways to wait, which are its columns.
func TestFigure(t *testing.T) {
	all := []*place{{name: "shm"}, {name: "tcp"}}
	f := made(all, 0.5, 0.3).figure(all, 3)
	if err := f.Validate(); err != nil || len(f.Table.Rows) != len(all)*len(settings())/len(waits) || len(f.Bars) != 2*len(all) {
		t.Fatalf("%v: %d rows, %d bars", err, len(f.Table.Rows), len(f.Bars))
	}
	if row, want := f.Table.Rows[0], strings.Split("shm chain 100MB hosts 1000 1000 500 10.0 8.00 3.00 1.00 1.00 1.00", " "); !slices.Equal(row, want) {
		t.Errorf("%q, want %q", row, want)
	}
	if row := f.Table.Rows[1]; row[1] != "chain" || row[3] != "NICs" {
		t.Errorf("%q: the algorithm is a chain, and who relays is not called so too", row)
	}
}

// fakeWeft writes a program that says what weft multicast would, or something else.
func fakeWeft(t *testing.T, says string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weft")
	script := "#!/bin/sh\ncase \"$*\" in *--serve*) exec sleep 60;; *'--provider shm'*) lane=shm;; *) lane=tcp;; esac\n" + says + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	weft := fakeWeft(t, `echo '{"provider":"'$lane'","size":1000,"results":[{"seconds":1,"cpu_seconds":1,"verified":true}]}'`)
	var done, all int
	var warned []string
	figures, err := Run(t.Context(), Options{Weft: weft, Rounds: 2, Progress: func(d, a int) { done, all = d, a },
		Warn: func(text string) { warned = append(warned, text) }})
	if err != nil {
		t.Fatal(err)
	}
	if rows := len(figures[0].Table.Rows); done != all || all%(2*len(settings())) != 0 || rows != all/2/len(waits) {
		t.Errorf("%d of %d samples, %d rows; warned: %q", done, all, rows, warned)
	}
	if len(figures) != 2 || figure.Summary(figures) == "" {
		t.Errorf("%d figures, %q", len(figures), figure.Summary(figures))
	}
}

func TestRunTellsWhatFails(t *testing.T) {
	for says, want := range map[string]string{
		"echo no such luck >&2; exit 1":            "no such luck",
		"echo hello":                               "no JSON",
		`echo '{"provider":"ibv"}'`:                `went over "ibv"`,
		`echo '{"provider":"'$lane'","size":100}'`: "no result",
	} {
		_, err := Run(t.Context(), Options{Weft: fakeWeft(t, says), Rounds: 1})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "shm, chain of 100MB, polling") {
			t.Errorf("%s: %v", says, err)
		}
	}
	for _, rounds := range []int{-1, MaxRounds + 1} {
		if _, err := Run(t.Context(), Options{Rounds: rounds}); err == nil {
			t.Errorf("%d rounds were begun", rounds)
		}
	}
}

// It ends with its context, in the middle of a sample.
func TestRunEndsWithItsContext(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	weft := fakeWeft(t, "echo >"+begun+"; exec sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := Run(ctx, Options{Weft: weft, Rounds: 1})
		ended <- err
	}()
	if _, err := os.ReadFile(begun); err != nil { // it comes when the program writes
		t.Error(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
