package simulated

import (
	"fmt"
	"strings"
	"time"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/internal/units"
)

// oversubscribed is how many times the rate of its uplink a rack's nodes have together, where there are racks.
const oversubscribed = 4

var eightRacks = []int{8, 8, 8, 8, 8, 8, 8, 8}

// The places of the rows.
var (
	small = place{members: 512, size: 8 * mb, fabric: cast.Fabric{Message: 5 * time.Microsecond}}
	large = place{members: 512, size: 256 * mb, block: 1 << 20}
	racks = place{members: 64, size: 256 << 20, block: 1 << 20,
		fabric: cast.Fabric{Racks: eightRacks, Uplink: cast.Oversubscribed(eightRacks, rate, oversubscribed)}}
	many = place{members: 10_000, size: 1000 * mb, block: mb}
)

// Settings say of all rows what they depend on, and which command repeats them, a line each.
func Settings() []string {
	return []string{
		small.setting("8 MB to 511", "pipeline,circulant,auto,chain", "some seconds"),
		large.setting("256 MB to 511", "pipeline,circulant,auto,chain", "some seconds"),
		racks.setting("256 blocks to 8 racks of 8", "rack-stripes,pipeline,circulant,auto,chain", "a second"),
		many.setting("1 GB to 9999", "pipeline,circulant -v", "some minutes (wall time and memory are those of the machine)"),
	}
}

// setting is what a place's rows depend on, and the command.
func (p place) setting(rows, algorithms, takes string) string {
	message, between := p.fabric.Message.String(), "no racks, so nothing is oversubscribed"
	if p.fabric.Message == 0 {
		message = "the simulator's own 7ns"
	}
	if p.fabric.Racks != nil {
		between = fmt.Sprintf("racks oversubscribed %d:1", oversubscribed)
	}
	return fmt.Sprintf("%s: links of %v, %s a message, %s. Repeat it in %s, with: %s --algorithm %s",
		rows, units.Rate(rate), message, between, takes, p.command(), algorithms)
}

// command simulates the place.
func (p place) command() string {
	said := fmt.Sprintf("weft sim multicast --size %s --rate %.0fgbit", flagged(int(p.size)), rate/1e9)
	if p.fabric.Racks == nil {
		said += fmt.Sprintf(" --nodes %d", p.members)
	} else {
		said += fmt.Sprintf(" --racks %dx%d --oversubscribe %d", len(p.fabric.Racks), p.fabric.Racks[0], oversubscribed)
	}
	if p.fabric.Message > 0 {
		said += fmt.Sprintf(" --message %dus", p.fabric.Message.Microseconds())
	}
	if p.block > 0 {
		said += " --blocks " + flagged(p.block)
	}
	return said
}

// flagged is a size as one word.
func flagged(bytes int) string { return strings.ReplaceAll(units.Size(bytes).String(), " ", "") }
