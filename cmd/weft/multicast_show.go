package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/internal/units"
)

// castReport is what weft multicast tells programs.
type castReport struct {
	Version string `json:"weft"`
	Asked   string `json:"asked"` // the provider that was asked for: auto, or a name
	*cast.Report
	Interrupted bool   `json:"interrupted"`
	Error       string `json:"error,omitempty"`
}

// castShow shows how a multicast goes: rows of a table as they come, or one JSON object in the end.
type castShow struct {
	out      io.Writer
	asJSON   bool
	each     bool // show when each member was done
	asked    string
	progress *progress
	far      castProgress
	formed   func() // is told that the group is there
	report   *cast.Report
	rows     int
	err      error // the first failure to print
}

// shown does the work and prints what comes of it, also if it is interrupted.
func (s *multicastSettings) shown(ctx context.Context, work func(context.Context, *castShow) error) error {
	show := &castShow{out: s.out, asJSON: s.asJSON, each: s.everyMember, asked: s.provider.lane, formed: func() {}}
	if s.simulated {
		show.asked = "sim"
	}
	show.progress = newProgress(s.errs, s.mute, show.far.line)
	show.far.expect(&s.job)
	show.progress.start()
	defer context.AfterFunc(ctx, show.progress.giveWay)()
	err := work(ctx, show)
	show.progress.stop()
	return isUsage(errors.Join(err, show.finish(err)))
}

// watch has the show told what happens.
func (c *castShow) watch() cast.Watch {
	return cast.Watch{Formed: c.head, Begin: c.far.begin, Copied: c.copied, Ran: c.row}
}

// head stands above everything.
func (c *castShow) head(r *cast.Report) {
	c.formed()
	c.far.formed(r.Blocks)
	c.report = r
	c.printf("%s, timed by %s\n%v in %s of %v, %v", over(r), clockWords[r.Clock], units.Size(r.Size), counted(r.Blocks, "block"),
		units.Size(r.Block), r.Algorithm)
	if r.Stripes > 1 {
		c.printf(" in %d stripes", r.Stripes)
	}
	c.printf(": %s, at best %d\n", counted(r.Steps, "step"), r.BoundSteps)
	c.chosen(r.Chosen)
	if r.Phantom {
		c.printf("phantom memory: the origin of every byte is kept and checked, not the bytes\n")
	}
}

// chosen says from what the rest was chosen.
func (c *castShow) chosen(why *cast.Chosen) {
	if why == nil {
		return
	}
	l := why.Links
	c.printf("chosen for %s, latency %s, %s a block", bytesPerSecond(l.Rate/8), seconds(l.Latency), seconds(l.Message))
	if l.Took > 0 {
		c.printf(", measured in %s", seconds(l.Took))
	}
	c.printf("\n")
	if !l.Local { // the model knows links, and not how members of one host take its cores from each other
		c.printf("expected time: %s\n", seconds(why.Predicted))
	}
}

// clockWords are the clocks, for people.
var clockWords = map[string]string{
	cast.ClockHost:    "the clock of this host",
	cast.ClockRoot:    "the root's clock",
	cast.ClockVirtual: "the virtual clock",
}

// over says who the members are and what joins them.
func over(r *cast.Report) string {
	if r.Simulated {
		return fmt.Sprintf("%d members, simulated, %v", len(r.Members), units.Rate(r.Rate))
	}
	return fmt.Sprintf("%d members over %s", len(r.Members), r.Provider)
}

// copied shows the copy that runs are compared with.
func (c *castShow) copied(r *cast.Report) {
	c.printf("one copy, to member 1 alone, at best: %s, %s\n", seconds(r.Copy.Seconds), bytesPerSecond(r.Copy.Rate))
	if r.Shared() > r.Copy.Seconds {
		c.printf("%d of them, by the %s that all members share, at best: %s\n", len(r.Members)-1, counted(r.Cores, "core"), seconds(r.Shared()))
	}
}

// row shows one run.
func (c *castShow) row(r *cast.Report, run cast.Run) {
	name := fmt.Sprint(len(r.Results))
	remark := "verified"
	if r.WarmUps() {
		name = fmt.Sprint(len(r.Results) - 1)
	}
	if run.WarmUp {
		name, remark = "warm-up", "verified, not counted"
	}
	c.line(name, run, remark)
	if c.each {
		for rank, done := range run.Members {
			c.printf("%16s  member %d (%s)%s\n", seconds(done), rank, r.Members[rank], cpuOf(run, rank))
		}
	}
}

func (c *castShow) line(name string, run cast.Run, remark string) {
	if c.rows == 0 {
		c.printf("\n%7s %8s %10s %8s %8s %10s\n", "run", "time", "rate", "skew", "cpu", "efficiency")
	}
	c.rows++
	efficiency, cpu := "–", "–"
	if run.Efficiency > 0 {
		efficiency = fmt.Sprintf("%.1f %%", 100*run.Efficiency)
	}
	if run.CPU > 0 {
		cpu = seconds(run.CPU)
	}
	c.printf("%7s %8s %10s %8s %8s %10s  %s\n", name, seconds(run.Seconds), bytesPerSecond(run.Rate), seconds(run.Skew), cpu, efficiency, remark)
}

// cpuOf says how much processor time a member took, if anybody knows.
func cpuOf(run cast.Run, rank int) string {
	if rank >= len(run.MemberCPU) {
		return ""
	}
	return fmt.Sprintf(", %s of cpu", seconds(run.MemberCPU[rank]))
}

// seconds prints a time that was measured.
func seconds(s float64) string { return units.Seconds(s) }

// bytesPerSecond prints a rate that was measured.
func bytesPerSecond(rate float64) string {
	switch {
	case rate >= 1e9:
		return units.Digits(rate/1e9) + " GB/s"
	case rate >= 1e6:
		return units.Digits(rate/1e6) + " MB/s"
	case rate > 0:
		return units.Digits(rate/1e3) + " kB/s"
	}
	return "–"
}

// finish prints what is left to print: the object, or the median.
func (c *castShow) finish(failed error) error {
	switch {
	case c.report == nil:
		return nil // nothing was begun
	case c.asJSON:
		r := castReport{Version: version, Asked: c.asked, Report: c.report}
		if failed != nil {
			r.Interrupted, r.Error = isInterrupt(failed), failed.Error()
		}
		return json.NewEncoder(c.out).Encode(r)
	}
	if r := c.report; r.Median != nil && len(r.Results) > 1 {
		c.line("median", *r.Median, fmt.Sprintf("%s to %s", seconds(r.Spread.Min), seconds(r.Spread.Max)))
	}
	c.remark()
	return c.err
}

// remark says what the efficiency suffers from, where that is no fault of the schedule.
func (c *castShow) remark() {
	r := c.report
	if r.Copy == nil || r.Clock != cast.ClockHost || r.Median == nil || r.Size == 0 {
		return
	}
	c.printf("\nAll %d members share %s of this host: together they received %s.\n", len(r.Members),
		counted(runtime.NumCPU(), "core"), bytesPerSecond(r.Median.Rate*float64(len(r.Members)-1)))
}

func (c *castShow) printf(format string, args ...any) {
	if c.asJSON {
		return
	}
	c.progress.hide(func() {
		if _, err := fmt.Fprintf(c.out, format, args...); c.err == nil {
			c.err = err
		}
	})
}
