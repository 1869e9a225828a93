package push

import (
	"encoding/hex"
	"fmt"
	"runtime"
	"time"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/straggler"
)

// report says how it ended. What ended the push as a whole is what is wrong with every host that is not done.
func (p *pusher) report(whole error) *Report {
	r := &Report{ID: p.id.String(), Elapsed: time.Since(p.began), Sending: p.sending, Repairs: p.repairs, SHA256: p.sha256, Plan: p.plan, Hops: p.traffic.reports()}
	for _, h := range p.hosts {
		r.Hosts = append(r.Hosts, p.hostReport(h, whole))
	}
	if p.source != nil {
		s := p.source.Summary()
		r.Files, r.Bytes = s.Files, s.Content
	}
	if p.root != (manifest.Hash{}) {
		r.Root = hex.EncodeToString(p.root[:])
	}
	if p.Racks != nil {
		r.CrossBytes = p.traffic.crossing(p.rackNames())
	}
	if whole != nil {
		r.Error = whole.Error()
	}
	r.Exit = exitCode(whole, r.Hosts)
	p.reportRates(r)
	return r
}

func (p *pusher) rackNames() map[string]int {
	racks := map[string]int{rootName: p.rootRack}
	for _, h := range p.hosts {
		racks[h.name] = h.rack
	}
	return racks
}

func (p *pusher) hostReport(h *host, whole error) HostReport {
	n := p.board.of(h)
	r := HostReport{Host: h.name, Outcome: OutcomeFailed, Received: n.status.Received, Sent: n.status.Sent, Demoted: h.demoted, First: h.first}
	switch {
	case h.finished != nil:
		r.Outcome, r.Written, r.Skipped = OutcomeVerified, h.finished.Written, h.finished.Skipped
	case p.DryRun && whole == nil && h.trouble == nil:
		r.Outcome = OutcomeReady
	case h.trouble != nil:
		r.Class, r.Cause, r.Text = h.trouble.Class, h.trouble.Cause, h.trouble.Text
	case whole != nil:
		t := troubleOf(whole)
		r.Class, r.Text = t.Class, t.Text
	default:
		r.Class, r.Text = control.Other, "the push ended before it was done here"
	}
	return r
}

// reportRates says how fast it was, and how fast it could have been, for what was lacking.
func (p *pusher) reportRates(r *Report) {
	moved := p.moved()
	if p.sending <= 0 || moved == 0 {
		return
	}
	r.Rate = float64(moved) / p.sending.Seconds()
	if moved < worthProbing && p.LinkRate == 0 {
		return
	}
	blocks := int((moved + uint64(p.content.Block) - 1) / uint64(p.content.Block))
	r.Bound = bound(len(p.hosts)+1, blocks, p.content.Wire(), p.linkRate())
	if p.sharesProcessors() && r.Bound > 0 {
		r.Bound = max(r.Bound, p.sharedBound(p.linkRate()*float64(runtime.NumCPU())))
	}
	if r.Bound > 0 {
		r.Efficiency = min(1, float64(r.Bound)/float64(p.sending))
	}
	r.Bottleneck = p.bottleneck(r)
}

// sharesProcessors reports whether processors decide how fast it is. Under a limit nobody knows what they can do.
func (p *pusher) sharesProcessors() bool { return p.links.local && p.Rate == 0 }

// sharedBound is how long everything takes that hosts have received, where the same processors bring it to all of them, and no link.
func (p *pusher) sharedBound(rate float64) time.Duration {
	var received uint64
	for _, h := range p.hosts {
		received += p.board.of(h).status.Received
	}
	return timeFor(received, rate)
}

// moved is how much of the content came to the host that lacked most of it. All get the whole manifest, and before anything is sent of the content.
func (p *pusher) moved() (most uint64) {
	if p.content.Size == 0 {
		return 0
	}
	for _, h := range p.hosts {
		most = max(most, p.board.of(h).status.Received)
	}
	most -= min(most, p.manifest.WireSize())
	share := float64(p.content.Block) / float64(p.content.Wire()) // the rest is hashes
	return min(uint64(float64(most)*share), p.content.Size)
}

// linkRate is how many bytes a second a link takes: as somebody says, as was measured, or as is allowed.
func (p *pusher) linkRate() float64 {
	rate := p.traffic.fastest()
	if p.LinkRate > 0 {
		rate = float64(p.LinkRate) / 8
	}
	if p.Rate > 0 {
		rate = min(rate, float64(p.Rate))
	}
	return rate
}

// waitedFor are the hosts that were given up because they did not get on, or did not answer any more, while content was sent.
func (p *pusher) waitedFor() (names []string) {
	for _, h := range p.hosts {
		if h.trouble != nil && (h.trouble.Class == control.Unreachable || h.trouble.Class == control.Late) && p.board.of(h).status.Received > 0 {
			names = append(names, h.name)
		}
	}
	return names
}

// servedApart are the hosts that were found to be slow.
func (p *pusher) servedApart() (names []string) {
	for _, h := range p.hosts {
		if h.demoted {
			names = append(names, h.name)
		}
	}
	return names
}

// bottleneck names what has held up the push: a host that failed, or that was served apart, a disk, a hop, or nothing in particular.
func (p *pusher) bottleneck(r *Report) string {
	for _, h := range p.hosts {
		if share := float64(p.board.of(h).status.Disk.Full) / float64(p.sending); share > 0.2 {
			return fmt.Sprintf("disk of %s: blocks waited for it during %.0f %% of the time", h.name, 100*share)
		}
	}
	if names := p.waitedFor(); len(names) > 0 && r.Efficiency < 0.85 {
		return hosts.Fold(names) + ", until the others went on without"
	}
	typical := median(p.traffic.rates())
	if p.Rate > 0 {
		typical = min(typical, float64(p.Rate))
	}
	var slowest *HopReport
	for i := range r.Hops {
		if hop := &r.Hops[i]; hop.Rate > 0 && hop.Rate < straggler.Fraction*typical && (slowest == nil || hop.Rate < slowest.Rate) {
			slowest = hop
		}
	}
	apart := p.servedApart()
	switch {
	case slowest != nil:
		return fmt.Sprintf("hop %s → %s: %s on the wire, where %s is usual", slowest.From, slowest.To, perSecond(slowest.Rate), perSecond(typical))
	case p.Rate > 0 && r.Rate > straggler.Fraction*float64(p.Rate):
		return fmt.Sprintf("the limit: each host sends %s at most", perSecond(float64(p.Rate)))
	case r.Efficiency > 0.85:
		return fmt.Sprintf("the links, all alike: %s", perSecond(typical))
	case len(apart) > 0:
		return hosts.Fold(apart) + ", slow, and served after the others"
	case typical > 0:
		return fmt.Sprintf("the hosts' processors: blocks are fast on the wire (%s), and wait before it", perSecond(typical))
	}
	return ""
}

// perSecond is a rate in bytes a second, as commands print rates.
func perSecond(rate float64) string { return units.Bytes(uint64(rate)) + "/s" }
