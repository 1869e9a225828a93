package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestBadUsage(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{"", "how many hosts"},
		{"4", "how many hosts"},
		{"4 1gbit 1gbit 1gbit", "how many hosts"},
		{"four 1gbit", `"four"`},
		{"4, 1gbit", `"4,"`},
		{"0 1gbit", "0 hosts"},
		{"4 fast", `"fast"`},
		{"4 1gbit --", "no command"},
	} {
		var out, errs strings.Builder
		status := run(context.Background(), strings.Fields(c.line), &out, &errs)
		if status != exitUsage || !strings.Contains(errs.String(), c.says) {
			t.Errorf("links %s: status %d, %s", c.line, status, errs.String())
		}
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
}

func TestACommandRunsOnEveryHost(t *testing.T) {
	needRoot(t)
	var out, errs strings.Builder
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	status := run(ctx, []string{"2,1", "1gbit", "1gbit", "--", "sh", "-c", "printf $WEFT_ADDRESS; exit $WEFT_HOST"}, &out, &errs)
	if status == exitBroken {
		t.Skip(errs.String())
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	if want := []string{"h0 10.77.0.1", "h1 10.77.0.2", "h2 10.77.0.3"}; !slices.Equal(got, want) || status != 2 {
		t.Errorf("status %d, %q, want %q", status, got, want)
	}
}

func TestWithoutACommandItStandsUntilItIsEnded(t *testing.T) {
	needRoot(t)
	var out, errs strings.Builder
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	status := run(ctx, []string{"2", "none"}, &out, &errs)
	if status == exitBroken {
		t.Skip(errs.String())
	}
	if status != 0 || strings.Count(out.String(), "nsenter --net=/proc/") != 2 {
		t.Errorf("status %d: %s", status, out.String())
	}
}
