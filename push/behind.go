package push

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// goesOn reports whether the push goes on though nobody has got on for too long: without those that all wait for, or because it is not known yet who
// they are.
func (c *clock) goesOn(views []view) bool {
	return c.waitsForHosts() && (c.mustListen(views) || c.leaveBehind(views))
}

// waitsForHosts reports whether hosts are to blame when nobody gets on, and not the source.
func (c *clock) waitsForHosts() bool {
	switch c.stage {
	case "manifest", "examine", "send", "stragglers", "commit", "differ":
		return c.p.object.sinceRead() < c.p.StallTimeout/2
	}
	return false
}

// isWaitedFor reports whether others may wait for a host. One that is lost is dealt with, as soon as what is under way has ended.
func (v *view) isWaitedFor() bool { return v.alive && !v.waits && !v.lost }

// mustListen reports whether somebody says nothing who may be why the others wait. Whether it is lost is known when silence is over, and until then
// nobody else is judged. Who answers so seldom that this is never known does not hold up the others for ever, and if all say nothing there are no others.
func (c *clock) mustListen(views []view) bool {
	var mute, speaks bool
	for _, v := range views {
		isMute := c.isMute(&v)
		mute = mute || v.isWaitedFor() && isMute
		speaks = speaks || v.isWaitedFor() && !isMute
	}
	return mute && speaks && time.Since(c.moved) < c.patience()+2*silence
}

// isMute reports whether a host was not heard of lately, or not since somebody got on last.
func (c *clock) isMute(v *view) bool {
	lately := max(2*pollWait, min(c.p.StallTimeout/2, silence/2))
	return time.Since(v.heard) > lately || v.heard.Before(c.moved)
}

// leaveBehind gives up the hosts that all others wait for, when nobody gets on, and reports whether there are such.
func (c *clock) leaveBehind(views []view) bool {
	behind, text := c.behind(slices.DeleteFunc(slices.Clone(views), func(v view) bool { return !v.isWaitedFor() }))
	for _, v := range behind {
		c.moved = time.Now()
		c.p.board.giveUp(v.host, &control.Trouble{Class: control.Late, Text: fmt.Sprintf(text, c.patience())})
	}
	return len(behind) > 0
}

// behind are those of the hosts that all wait for, and what is said of them. Nobody waits for another one to commit. Elsewhere, if all are as far as
// each other, there is nobody to go on with, but those that are done.
func (c *clock) behind(all []view) (some []view, text string) {
	switch c.stage {
	case "commit":
		return all, "it has not got on for %v with writing its files to the disk and naming them"
	case "differ":
		return all, "it has not got on for %v with telling what is different"
	}
	switch some = c.suspects(all); {
	case len(some) < len(all):
		return some, "it has not got on for %v, and all others waited for it"
	case c.stage == "stragglers":
		return all, "it has not got on for %v"
	}
	return nil, ""
}

// suspects are those of whom there is evidence that the others wait for them: their disk does not end what it was asked to do, or they do not answer
// what they were asked for. Without any it is those who have got least far. If all say nothing, what is known of them is old.
func (c *clock) suspects(all []view) []view {
	if !slices.ContainsFunc(all, func(v view) bool { return !c.isMute(&v) }) {
		return all
	}
	for _, is := range []func(view) bool{
		func(v view) bool { return time.Duration(v.status.Disk.Oldest) > c.p.StallTimeout/2 },
		func(v view) bool { return v.asked },
	} {
		some := slices.DeleteFunc(slices.Clone(all), func(v view) bool { return !is(v) })
		if len(some) > 0 && len(some) < len(all) {
			return some
		}
	}
	return leastFar(all, c.p.content.Blocks())
}

// leastFar are those hosts that have got least far with a content of so many blocks.
func leastFar(all []view, blocks int) (some []view) {
	for _, v := range all {
		order := -1
		if len(some) > 0 {
			order = v.further(&some[0], blocks)
		}
		if order < 0 {
			some = nil
		}
		if order <= 0 {
			some = append(some, v)
		}
	}
	return some
}

// stages are the phases of an agent until it has the manifest, in their order.
var stages = []control.Phase{"", control.PhaseOpen, control.PhaseExamining}

// further compares how far two hosts are: with the manifest, and then by what they have gained in this group. How much they had before says nothing,
// and who has everything waits for nothing.
func (v *view) further(other *view, blocks int) int {
	return cmp.Or(cmp.Compare(v.stage(), other.stage()), cmp.Compare(v.progress(blocks), other.progress(blocks)))
}

func (v *view) stage() int {
	if i := slices.Index(stages, v.status.Phase); i >= 0 {
		return i
	}
	return len(stages)
}

func (v *view) progress(blocks int) int {
	if v.status.Phase == control.PhaseComplete || v.status.Have >= blocks {
		return control.MaxBlocks
	}
	return v.gained
}
