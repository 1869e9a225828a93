package multicast

import (
	"fmt"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
)

// What large messages have to reach.
const (
	copyBound       = 1.05 // RDMC's promise: hardly more than one copy takes
	efficiencyBound = 0.96
	peerBound       = 1.0
	cpuBound        = 0.5
	skewBound       = 0.02
	skewReceivers   = 15
)

// seconds is the median of an entry that has samples.
func (e *entry) seconds() float64 { return e.median(seconds) }

func (e *entry) median(of func(delivery.Sample) float64) float64 {
	var all []float64
	for _, s := range e.samples {
		all = append(all, of(s))
	}
	if len(all) == 0 {
		return 0
	}
	return contest.Median(all)
}

// What samples are compared by.
func seconds(s delivery.Sample) float64 { return s.Seconds }
func whole(s delivery.Sample) float64   { return s.Whole }
func cpu(s delivery.Sample) float64     { return s.CPU }
func allCPU(s delivery.Sample) float64  { return s.AllCPU }

// duel is a row: one of ours against one of the others, by one measure.
type duel struct {
	what, peer string
	unit       string
	bound      float64 // at most; 0: none
	by         func(delivery.Sample) float64
}

// row compares the samples of the same rounds.
func (d duel) row(ours, theirs *entry) contest.Result {
	c := contest.Contest{What: d.what, Peer: d.peer, Unit: d.unit, Bound: d.bound, AtMost: d.bound > 0}
	var pairs []contest.Pair
	for i := range min(len(ours.samples), len(theirs.samples)) {
		pairs = append(pairs, contest.Pair{Peer: d.by(theirs.samples[i]), Ours: d.by(ours.samples[i])})
	}
	return judged(c, pairs, ours, theirs)
}

// bestOf names an entry that is the best of its kind.
func bestOf(e *entry) string { return "the best of " + string(e.Kind) }

// judged is the row of pairs, or of why there are none.
func judged(c contest.Contest, pairs []contest.Pair, entries ...*entry) contest.Result {
	row := contest.Result{What: c.What, Peer: c.Peer, Unit: "×", Bound: c.Bound, AtMost: c.AtMost}
	if len(pairs) > 0 {
		row = c.Judge(pairs)
	}
	for _, e := range entries {
		for _, s := range e.samples {
			row.Others = max(row.Others, s.Others)
		}
		if e.failed != nil {
			row.Failed = e.failed.Error()
		}
	}
	if len(pairs) == 0 && row.Failed == "" {
		row.Failed = "there are no samples"
	}
	return row
}

// asked is a bound, of those who have to reach one.
func (e *entry) asked(bound float64) float64 {
	if e.beside {
		return 0
	}
	return bound
}

// rows are those of a large message.
func (l lineup) rows(where string, receivers int) (rows []contest.Result) {
	for _, e := range l.ours {
		what := fmt.Sprintf("%s, %s", where, e.Name)
		if e.failed != nil {
			rows = append(rows, contest.Result{What: what, Failed: e.failed.Error()})
			continue
		}
		rows = append(rows, duel{what, l.one.Name, "s", e.asked(copyBound), seconds}.row(e, l.one), efficiencyRow(what, e, l.one))
		if receivers == skewReceivers {
			rows = append(rows, skewRow(what, e))
		}
		for _, p := range l.peers {
			rows = append(rows, peerRows(what, e, p)...)
		}
	}
	for _, p := range l.peers {
		if p.Kind == delivery.KindUDPCast {
			rows = explain(rows, where, l.one, p) // it sends everything once, and not by TCP: one copy may be slower
		}
	}
	return rows
}

// peerRows compare with the best of a kind who has to be faster. What a start takes is printed for those who have a long one.
func peerRows(what string, e, p *entry) []contest.Result {
	if e.beside {
		return nil
	}
	best := bestOf(p)
	rows := []contest.Result{duel{what, best, "s", peerBound, seconds}.row(e, p)}
	if p.Kind == delivery.KindMPI {
		return append(rows, duel{what + ": CPU", best, "s", cpuBound, cpu}.row(e, p),
			duel{what + ": CPU from start to end", best, "s", 0, allCPU}.row(e, p))
	}
	return append(rows, duel{what + ": with start-up", best, "s", 0, whole}.row(e, p))
}

// efficiencyRow is the best possible time over the measured one. With k blocks and n members the best schedule takes
// k + ⌈log₂ n⌉ − 1 steps (RDMC, section 4.3), each as long as a block of the plain copy in the same round.
func efficiencyRow(what string, e, one *entry) contest.Result {
	c := contest.Contest{What: what + ": efficiency", Peer: "the best schedule's time", Unit: "s"}
	var pairs []contest.Pair
	for i := range min(len(e.samples), len(one.samples)) {
		s := e.samples[i]
		pairs = append(pairs, contest.Pair{Peer: s.Bound * one.samples[i].Seconds, Ours: s.Seconds})
	}
	row := judged(c, pairs, e, one)
	row.Unit, row.Bound = "", e.asked(efficiencyBound)
	if len(pairs) > 0 {
		row.Value, row.Low, row.High = 1/row.Value, 1/row.High, 1/row.Low
	}
	return row
}

// skewRow is how much later than the first the last receiver was done, as a part of the transfer.
func skewRow(what string, e *entry) contest.Result {
	c := contest.Contest{What: what + ": skew", Peer: "the transfer", Unit: "s", Bound: e.asked(skewBound), AtMost: !e.beside}
	var pairs []contest.Pair
	for _, s := range e.samples {
		pairs = append(pairs, contest.Pair{Peer: s.Seconds, Ours: s.Skew})
	}
	return judged(c, pairs, e)
}
