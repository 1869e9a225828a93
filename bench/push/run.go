package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/bench/figure"
)

// command repeats a run.
const command = "make bench-push"

// method is how the rows are measured.
const method = "Hosts are network namespaces of one machine, each with a link of 200 Mbit/s both ways, or of 100 Mbit/s where our processes alone would take more than 40 % of the cores at that; " +
	"files lie in memory (tmpfs). Agents run already. What weft push takes is what it counts itself, from its beginning to its end: to look at the source, to connect, to hash, send, verify, write and commit; " +
	"with start-up, what its process takes. Weft multicast counts from the first byte to the last one at the last receiver, in memory; BitTorrent too, by the links' counters, which checks what it receives; udpcast too, and the time of a " +
	"checksum at all hosts at once is added; rsync from the start of its processes to the end of the last. So these peers are compared from command to end, as weft push is measured, and beside it by what their " +
	"transfer takes. In a round everybody delivers once, rsync in the first round only; a ratio is of two deliveries of the same round, " +
	"and what is shown is the median of the rounds, with the lowest and the highest. First byte: of a file that is on a disk, and not in memory; the time until the last host has verified its first block, by the pusher's clock."

// bench is a run.
type bench struct {
	Options
	ctx    context.Context
	record *figure.Record
}

// Run measures everything that was asked for, in the order of the table. It fails if a bound is missed or something could not be measured.
func Run(ctx context.Context, o Options) error {
	b := &bench{Options: o, ctx: ctx, record: figure.NewRecord(o.Version, command)}
	b.record.Method = method
	steps := b.steps()
	matched, names := false, []string{}
	for _, s := range steps {
		matched = matched || o.Only.MatchString(s.Name)
		names = append(names, s.Name)
	}
	if !matched {
		return fmt.Errorf("--only %s matches nothing; there are %s", o.Only, strings.Join(names, "; "))
	}
	b.versions()
	if err := b.record.Take(ctx, o.Only, steps); err != nil {
		return err
	}
	return b.finish()
}

// steps are all there are, in the order of the table.
func (b *bench) steps() []contest.Step {
	return []contest.Step{b.linkStep(), b.firstStep(), b.relayStep(), b.crowdStep()}
}

// versions takes down who takes part.
func (b *bench) versions() {
	m := &b.record.Machine
	for k, version := range map[delivery.Kind]*string{delivery.KindUDPCast: &m.UDPCast, delivery.KindTorrent: &m.Aria2, delivery.KindRsync: &m.Rsync} {
		v, err := delivery.Version(b.ctx, k)
		if err != nil {
			b.record.Warn(err.Error())
		}
		*version = v
	}
}

// finish prints and keeps what was measured.
func (b *bench) finish() error {
	var shown, kept error
	if b.JSON {
		shown = json.NewEncoder(b.Shown).Encode(b.record)
	} else {
		shown = b.record.Print(b.Out)
	}
	if b.Out != "" {
		kept = figure.Save(b.Out, b.record)
	}
	return errors.Join(shown, kept, b.record.Missed())
}

// say tells how far it is.
func (b *bench) say(format string, values ...any) { fmt.Fprintf(b.Said, format+"\n", values...) }
