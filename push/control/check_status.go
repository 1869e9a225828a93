package control

import (
	"math"
	"slices"
)

var (
	phases  = []Phase{PhaseOpen, PhaseExamining, PhaseReady, PhaseReceiving, PhaseComplete, PhaseFailed}
	classes = []Class{Other, Source, Unreachable, Integrity, Authorization, Preflight, Late, Interrupted}
)

// Validate refuses what no agent can say of a push.
func (a *Status) Validate() error {
	if !slices.Contains(phases, a.Phase) {
		return malformed("there is no phase %.40q", a.Phase)
	}
	if a.Error != nil {
		a.Error.clean()
	}
	return first(checkRange("epoch", a.Epoch, 0, maxEpoch), checkRange("blocks", a.Blocks, 0, MaxBlocks), checkRange("blocks that are here", a.Have, 0, MaxBlocks),
		checkRange("candidates", a.Candidates, 0, MaxBlocks), checkSpan("time of the first byte", a.FirstByte, math.MaxInt64),
		checkHops(a.Hops), a.Disk.check(), a.GroupFailed.check())
}

func checkHops(hops []Hop) error {
	if err := checkRange("hops", len(hops), 0, MaxMembers); err != nil {
		return err
	}
	for _, h := range hops {
		if err := first(checkRange("rank of a peer", h.Rank, 0, MaxMembers-1), checkSpan("time on the wire", h.Wire, math.MaxInt64)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Disk) check() error {
	return first(checkSpan("time of writing", d.Busy, math.MaxInt64), checkSpan("time without memory", d.Full, math.MaxInt64), checkSpan("time of a task", d.Oldest, math.MaxInt64))
}

func (f *GroupFailed) check() error {
	if f == nil {
		return nil
	}
	notices(&f.Cause)
	return checkRange("rank of who failed", f.Rank, -1, MaxMembers-1)
}

// clean makes of trouble what people and exit codes can use.
func (t *Trouble) clean() {
	if !slices.Contains(classes, t.Class) {
		t.Class = Other
	}
	notices(&t.Cause)
	if notices(&t.Text); t.Text == "" {
		t.Text = "it does not say what went wrong"
	}
}
