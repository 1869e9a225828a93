package push

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push"
)

// What is sent on links, and what has to be reached there.
const (
	receivers    = 7
	fileBytes    = 1 << 30
	quickBytes   = 64 << 20
	probeBytes   = 32 << 20
	killed       = 3 // the host whose agent is
	slow         = 4 // the host whose link is
	busiest      = 0.4
	memoryBound  = 1.05
	peerBound    = 1
	killedBound  = 1.25
	slowBound    = 1.2
	nothingBound = 0.1
)

// linkRates are those that links may have: the usual one, and one for slow cores.
var linkRates = [2]string{"200mbit", "100mbit"}

// linkStep measures a file that goes to all receivers.
func (b *bench) linkStep() contest.Step {
	size := fileBytes
	if b.Quick {
		size = quickBytes
	}
	s := contest.Step{Name: fmt.Sprintf("%v to %d receivers", units.Size(size), receivers), Watches: true}
	s.Run = func() (rows []contest.Result, err error) {
		f, rate, err := b.open()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		b.record.Note("links of %s; files lie in %s", rate, f.Folder())
		l := b.newLineup(f, rate)
		b.rounds(f, delivery.Load{Bytes: size, Repeats: 1}, l.everybody())
		return l.rows(s.Name, f), b.ctx.Err()
	}
	return s
}

// options are those of weft push on links of a rate: what weft multicast is told, too.
func options(rate string, more ...string) []string {
	return append([]string{"--provider", "tcp", "--rate", rate, "--checksum"}, more...)
}

// open makes hosts, with links at a rate that the cores can bear.
func (b *bench) open() (*delivery.Field, string, error) {
	f, err := delivery.Open(receivers, linkRates[0])
	if err != nil {
		return nil, "", err
	}
	e := pushEntry(delivery.Push{Name: "weft push", Options: options(linkRates[0], "--plain")})
	b.deliver(f, delivery.Load{Bytes: probeBytes, Repeats: 1}, e, "whether the cores bear "+linkRates[0])
	if bears := e.failed != nil || busy(e) <= busiest; bears { // who fails here fails in the rounds, too
		return f, linkRates[0], nil
	}
	b.record.Note("links of %s, because at %s agents alone take %.0f %% of the cores", linkRates[1], linkRates[0], 100*busy(e))
	if err := errors.Join(f.Close(), b.ctx.Err()); err != nil {
		return nil, "", err
	}
	f, err = delivery.Open(receivers, linkRates[1])
	return f, linkRates[1], err
}

// busy is how much of the cores' time agents took while content was sent.
func busy(e *entry) (share float64) {
	for _, cpu := range e.told.CPU {
		share += cpu
	}
	return share / (e.told.Report.Sending.Seconds() * float64(runtime.NumCPU()))
}

// lineup is who takes part.
type lineup struct {
	memory                         *entry // weft multicast
	plain, encrypted, killed, slow *entry
	peers                          []*entry
}

func (b *bench) newLineup(f *delivery.Field, rate string) *lineup {
	plain := options(rate, "--plain")
	l := &lineup{
		memory:    &entry{Contestant: delivery.Weft("auto", 0)},
		plain:     pushEntry(delivery.Push{Name: "weft push --plain", Options: plain, Again: true}),
		encrypted: pushEntry(delivery.Push{Name: "weft push", Options: options(rate)}),
		killed:    pushEntry(delivery.Push{Name: "weft push --plain, an agent is killed", Options: plain, Kill: killed}),
		slow:      pushEntry(delivery.Push{Name: "weft push --plain, a slow link", Options: plain, Slow: slow, Enough: othersDone(f.Address(slow))}),
		peers:     []*entry{b.best(f, f.CheckedUDPCastWays()), b.best(f, delivery.TorrentWays()), {Contestant: delivery.Rsync(), rounds: 1}},
	}
	return l
}

// othersDone reports whether all hosts but one are done: nobody waits for the rest.
func othersDone(address string) func(push.Event) bool {
	done := map[string]bool{}
	return func(e push.Event) bool {
		switch {
		case e.Kind == push.EventReport:
			clear(done) // the next push begins with nothing, whatever it says first
		case e.Kind == push.EventHostDone && e.Host != address:
			done[e.Host] = true
			return len(done) == receivers-1
		}
		return false
	}
}

// best has every setting of a peer deliver something small once, and is the fastest.
func (b *bench) best(f *delivery.Field, ways []delivery.Contestant) *entry {
	if b.Quick {
		ways = ways[:1]
	}
	var all []*entry
	for _, way := range ways {
		e := &entry{Contestant: way}
		if b.deliver(f, delivery.Load{Bytes: probeBytes, Repeats: 1}, e, "which setting is best"); e.failed == nil {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return &entry{Contestant: ways[0]}
	}
	e := slices.MinFunc(all, func(a, b *entry) int { return cmp.Compare(a.samples[0].Seconds, b.samples[0].Seconds) })
	b.record.Note("the best of %d settings of %s is %s", len(ways), e.Kind, e.Name)
	return &entry{Contestant: e.Contestant}
}

func (l *lineup) everybody() []*entry {
	return append([]*entry{l.memory, l.plain, l.killed, l.slow, l.encrypted}, l.peers...)
}

// rounds has everybody deliver in turn. Who fails is left out from then on.
func (b *bench) rounds(f *delivery.Field, load delivery.Load, all []*entry) {
	for round := range b.Rounds {
		for _, e := range all {
			if e.failed != nil || e.rounds > 0 && round >= e.rounds {
				continue
			}
			b.deliver(f, load, e, fmt.Sprintf("round %d of %d", round+1, b.Rounds))
			if b.ctx.Err() != nil {
				return
			}
		}
	}
}

// rows are those of the table.
func (l *lineup) rows(where string, f *delivery.Field) (rows []contest.Result) {
	what := where + ", " + l.plain.Name
	const memory = "weft multicast, memory to memory"
	rows = append(rows,
		duel{what, memory, memoryBound, seconds, nil}.row(l.plain, l.memory),
		duel{what + ": with start-up", memory, 0, whole, nil}.row(l.plain, l.memory),
		duel{where + ", encrypted", memory, memoryBound, seconds, nil}.row(l.encrypted, l.memory))
	for _, p := range l.peers {
		rows = append(rows, duel{what + ", from command to end", p.Name, peerBound, whole, nil}.row(l.plain, p),
			duel{what + ", against the transfer alone", p.Name, 0, seconds, nil}.row(l.plain, p))
	}
	others := withoutHost(f.Address(slow))
	return append(rows,
		duel{where + ", one agent killed half-way", "an undisturbed push", killedBound, seconds, nil}.row(l.killed, l.plain),
		duel{where + ", one link at half rate: all others", "an undisturbed push", slowBound, others, nil}.row(l.slow, l.plain),
		duel{where + ", again, --checksum: nothing to do", "the push", nothingBound, again, seconds}.row(l.plain, l.plain))
}
