package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs/driver"
)

// timeline collects when each request of a simulation reached each stage.
type timeline struct {
	rows []*requestTimes
	open map[requestName]*requestTimes // posted and not completed
}

// requestName tells the requests that are under way apart.
type requestName struct {
	queue uint32
	tag   driver.Tag
}

// requestTimes is one request. Stages that it never reached are zero.
type requestTimes struct {
	node   uint32
	op     driver.Op
	bytes  uint32
	status driver.Status
	at     [sim.Completed + 1]clock.Time // by stage, from sim.Posted
}

// add is the simulator's observer.
func (t *timeline) add(e sim.Event) {
	if !e.Op.IsRequest() || e.Kind > sim.Completed {
		return
	}
	if t.open == nil {
		t.open = map[requestName]*requestTimes{}
	}
	name := requestName{e.Queue, e.Tag}
	r := t.open[name]
	if r == nil {
		r = &requestTimes{node: e.Node, op: e.Op, bytes: e.Bytes}
		t.open[name] = r
		t.rows = append(t.rows, r)
	}
	r.at[e.Kind] = e.Time
	if e.Kind == sim.Completed {
		r.status = e.Status
		delete(t.open, name)
	}
}

// stages are the columns of the timeline.
var stages = []sim.Kind{sim.Started, sim.Sent, sim.Landed, sim.Completed}

// tell prints a row for each request: when it was posted, and how long after that it reached each stage.
func (t *timeline) tell(out *teller, names []string) {
	if !out.asJSON {
		out.printf("\n  Timeline of the requests, in nanoseconds after each was posted\n  %-12s %-6s %-13s", "posted at", "who",
			"request")
		for _, s := range stages {
			out.printf(" %9s", strings.ToLower(s.String()))
		}
		out.printf("\n")
	}
	for _, r := range t.rows {
		if out.asJSON {
			out.keep(json.NewEncoder(out.out).Encode(r.event(names)))
			continue
		}
		out.printf("  %-12v %-6s %-13s", r.at[sim.Posted], names[r.node], fmt.Sprintf("%v %d B", r.op, r.bytes))
		for _, s := range stages {
			out.printf(" %9s", r.after(s))
		}
		out.printf("  %v\n", r.status)
	}
}

// after is how long after posting a stage was reached, or a dash.
func (r *requestTimes) after(stage sim.Kind) string {
	if r.at[stage] == 0 {
		return "–"
	}
	return fmt.Sprint(int64(r.at[stage].Sub(r.at[sim.Posted])))
}

// requestEvent is a row of the timeline for programs.
type requestEvent struct {
	Provider string           `json:"provider"`
	Who      string           `json:"who"`
	Request  string           `json:"request"`
	Bytes    uint32           `json:"bytes"`
	Status   string           `json:"status"`
	PostedAt time.Duration    `json:"posted_at_ns"`
	After    map[string]int64 `json:"after_ns"`
}

func (r *requestTimes) event(names []string) requestEvent {
	e := requestEvent{Provider: "sim", Who: names[r.node], Request: r.op.String(), Bytes: r.bytes, Status: r.status.String(),
		PostedAt: time.Duration(r.at[sim.Posted]), After: map[string]int64{}}
	for _, s := range stages {
		if r.at[s] != 0 {
			e.After[strings.ToLower(s.String())] = int64(r.at[s].Sub(r.at[sim.Posted]))
		}
	}
	return e
}
