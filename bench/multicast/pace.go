package multicast

import (
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
)

// planned is a step, and how long it is thought to take.
type planned struct {
	contest.Step
	takes time.Duration
}

// pace knows how much time is left.
type pace struct {
	began time.Time
	step  time.Time     // when this step began
	takes time.Duration // this step, as planned
	later time.Duration // the steps behind it
}

// plan has the pace know which step it is.
func (p *pace) plan(all []planned, only *regexp.Regexp) (steps []contest.Step) {
	p.began = time.Now()
	later := time.Duration(0)
	for i := len(all) - 1; i >= 0; i-- {
		s, behind := all[i], later
		if !only.MatchString(s.Name) {
			continue
		}
		run := s.Run
		s.Run = func() ([]contest.Result, error) {
			p.step, p.takes, p.later = time.Now(), s.takes, behind
			return run()
		}
		later += s.takes
		steps = append([]contest.Step{s.Step}, steps...)
	}
	return steps
}

// left is how much longer everything is thought to take.
func (p *pace) left() time.Duration { return max(0, p.takes-time.Since(p.step)) + p.later }

// late reports whether so much more in this step would end everything behind the limit.
func (p *pace) late(more time.Duration) bool { return time.Since(p.began)+more+p.later > Limit }

// say tells how far it is.
func (p *pace) say(to io.Writer, format string, values ...any) {
	left := p.left().Round(time.Second)
	fmt.Fprintf(to, "%2d:%02d left  %s\n", left/time.Minute, left%time.Minute/time.Second, fmt.Sprintf(format, values...))
}
