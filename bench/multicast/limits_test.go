package multicast

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
)

// A row has a reason only if it misses its bound, the limit misses it too, and the limit is near.
func TestReasonsNeedNumbers(t *testing.T) {
	for _, c := range []struct {
		what           string
		one, ours, udp []float64 // seconds
		says           string    // empty: there is no reason
	}{
		{"even one copy is slower", []float64{11.222, 11.222}, []float64{11.294, 11.29}, []float64{11.17, 11.17},
			"even one plain TCP copy takes 11.222 s, which is 1.0047 × the best of udpcast (11.170 s)"},
		{"even one copy is a hair slower", []float64{11.172}, []float64{11.3}, []float64{11.17}, "which is 1.00018 × the best of udpcast (11.170 s)"},
		{"ours is faster than one copy", []float64{11.25}, []float64{11.2}, []float64{11.17}, ""},
		{"the medians of seconds say the contrary", []float64{1, 2, 3}, []float64{1.01, 2.2, 3.1}, []float64{.9, 2.1, 2.9}, ""},
		{"the bound is met", []float64{11.2}, []float64{11.1}, []float64{11.15}, ""},
		{"one copy is faster", []float64{11.1}, []float64{11.3}, []float64{11.17}, ""},
		{"one copy is as fast", []float64{11.17}, []float64{11.3}, []float64{11.17}, ""},
		{"ours is far from the limit", []float64{11.222}, []float64{13}, []float64{11.17}, ""},
		{"the medians decide", []float64{11.2, 11.2, 11.2}, []float64{11.3, 11.3, 11.3}, []float64{11.1, 11.3, 11.25}, ""},
		{"there is no udpcast", []float64{11.2}, []float64{11.3}, nil, ""},
	} {
		l := lineup{one: named("one plain TCP copy", delivery.KindTCP, c.one...), ours: []*entry{named("weft", delivery.KindWeft, c.ours...)},
			peers: []*entry{named("udpcast", delivery.KindUDPCast, c.udp...)}}
		if c.udp == nil {
			l.peers[0] = missing(delivery.KindUDPCast, errors.New("not installed"))
		}
		rows := l.rows("here", 3)
		if got := find(t, rows, "here, weft", "the best of udpcast").Why; (got == "") != (c.says == "") || !strings.HasSuffix(got, c.says) {
			t.Errorf("%s: the reason is %q, want %q", c.what, got, c.says)
		}
		if last := rows[len(rows)-1]; (last.What == "here, one plain TCP copy") != (c.udp != nil) {
			t.Errorf("%s: the last row is %s", c.what, last.What)
		}
		onlyOneReason(t, c.what, rows)
	}
}

// Who was disturbed, or whose limit was, has to be measured again.
func TestNoReasonIfDisturbed(t *testing.T) {
	row, limit := contest.Result{Value: 1.01, Bound: 1, AtMost: true}, contest.Result{Value: 1.005}
	if !because(row, limit) {
		t.Fatal("there is a reason")
	}
	for _, others := range [][2]float64{{0.5, 0}, {0, 0.5}} {
		row.Others, limit.Others = others[0], others[1]
		if because(row, limit) {
			t.Errorf("%v cores were busy, and there is a reason", others)
		}
	}
}

// onlyOneReason fails if anything else than the time against udpcast has a reason.
func onlyOneReason(t *testing.T, what string, rows []contest.Result) {
	t.Helper()
	for _, r := range rows {
		if r.Why != "" && (r.What != "here, weft" || r.Peer != "the best of udpcast") {
			t.Errorf("%s: %s against %s has the reason %q", what, r.What, r.Peer, r.Why)
		}
	}
}

// The recorded run, in short: 8 MiB alone need 0.336 s, and 0.8 × of what MPI takes is less.
func TestTheLinkIsALimit(t *testing.T) {
	mpi, parallel := named("Open MPI", delivery.KindMPI, 0.352, 0.353), named("TCP to all at once", delivery.KindTCP, 0.36, 0.36)
	weft := []*entry{named("weft auto", delivery.KindWeft, 0.362, 0.363)}
	rows := smallRows("here", weft, mpi, parallel, named("chain", delivery.KindWeft, 0.3, 0.3))
	rows = explain(rows, "here", linkAlone(0.3355, mpi), mpi)
	if r := find(t, rows, "here, the link alone", "the best of MPI"); r.Value < 0.95 || r.Value > 0.954 || r.Bound != 0 || len(r.Pairs) != 2 {
		t.Errorf("%+v", r)
	}
	if why := find(t, rows, "here, weft auto", "the best of MPI").Why; !strings.HasSuffix(why, "even the link alone takes 0.336 s, which is 0.952 × the best of MPI (0.352 s)") {
		t.Errorf("the reason is %q", why)
	}
	for _, peer := range []string{parallel.Name, "the best chain"} {
		if r := find(t, rows, "here, weft auto", peer); r.Why != "" || r.Value <= r.Bound {
			t.Errorf("%+v has a reason, or no need of one", r)
		}
	}
}
