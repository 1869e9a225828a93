package push

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/rig/links/network"
)

// What is measured of processors, and what has to be reached.
const (
	relayHost  = 1
	relayBound = 2
	crowdSize  = 64
	quickCrowd = 16
	fewPairs   = 2 // of what is printed only
	crowdBytes = 16 << 20
	crowdBound = 2
)

// Why the bound is missed beside the stricter of two peers, as far as is known.
const (
	whyWriting   = "a relay of files writes what it passes on: with that, see the row with write, hardly anything of the bound is left, and BLAKE3 needs more"
	whyProcesses = "one process answers all, from its own caches; 64 agents are 64 processes, which take longer for the same handshakes: see the next row"
)

// relayStep measures what a relay takes of the processors: on links without a limit, where bytes decide, and on limited ones, where it waits for most
// of the time.
func (b *bench) relayStep() contest.Step {
	s := contest.Step{Name: "CPU at a relay", Watches: true}
	s.Run = func() (rows []contest.Result, err error) {
		for _, l := range []struct {
			rate, name string
			bound      float64
			options    []string
		}{{network.Unlimited, "links without a limit", relayBound, []string{"--provider", "tcp", "--algorithm", "chain", "--checksum"}},
			{linkRates[0], "links of " + linkRates[0], 0, options(linkRates[0], "--algorithm", "chain")}} {
			more, err := b.relayRows(l.rate, l.name, l.bound, l.options)
			rows = append(rows, more...)
			if err != nil {
				return rows, err
			}
		}
		return rows, nil
	}
	return s
}

// relayRows has the second host of a chain of three relay, by weft push, plain and encrypted, and by what it cannot do without.
func (b *bench) relayRows(rate, name string, bound float64, options []string) (rows []contest.Result, err error) {
	f, err := delivery.Open(2, rate)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, pairs := fileBytes, b.Pairs
	if b.Quick {
		size = 4 * quickBytes
	}
	if rate != network.Unlimited {
		size, pairs = size/4, min(pairs, fewPairs)
	}
	least, keeping := &entry{Contestant: delivery.Relay(false)}, &entry{Contestant: delivery.Relay(true)}
	plain := pushEntry(delivery.Push{Name: "weft push --plain", Options: append([]string{"--plain"}, options...)})
	encrypted := pushEntry(delivery.Push{Name: "weft push", Options: options})
	for pair := range pairs {
		for _, e := range []*entry{least, keeping, plain, encrypted} {
			if e.failed == nil {
				b.deliver(f, delivery.Load{Bytes: size, Repeats: 1}, e, fmt.Sprintf("%s, %d of %d", name, pair+1, pairs))
			}
		}
	}
	for _, e := range []*entry{plain, encrypted} {
		for _, peer := range []*entry{least, keeping} {
			c := contest.Contest{What: fmt.Sprintf("CPU a GiB at a relay, %s, %s", e.Name, name), Peer: peer.Name, Unit: "s", Bound: bound, AtMost: bound > 0}
			if peer == least && bound > 0 {
				c.Why = whyWriting
			}
			rows = append(rows, judged(c, relayPairs(e, peer, size), e, peer))
		}
		bound = 0 // what is encrypted is printed
	}
	return rows, b.ctx.Err()
}

// relayPairs are seconds for each GiB that is received and sent.
func relayPairs(e, least *entry, size int) (pairs []contest.Pair) {
	const gib = 1 << 30
	for i := range min(len(e.pushed), len(least.samples)) {
		p := e.pushed[i]
		host := p.Report.Hosts[relayHost-1]
		bytes := float64(host.Received+host.Sent) / 2
		pairs = append(pairs, contest.Pair{Peer: least.samples[i].CPU * gib / float64(size), Ours: p.CPU[relayHost] * gib / bytes})
	}
	return pairs
}

// crowdStep measures how long it takes until many agents of one host have their first byte, beside as many handshakes as connections were opened.
func (b *bench) crowdStep() contest.Step {
	agents := crowdSize
	if b.Quick {
		agents = quickCrowd
	}
	c := contest.Contest{What: fmt.Sprintf("first byte at the last of %d agents", agents), Peer: "as many TLS handshakes as connections were opened", Unit: "s", Bound: crowdBound, AtMost: true, Why: whyProcesses}
	s := contest.Step{Name: c.What, Watches: true}
	s.Run = func() (rows []contest.Result, err error) {
		f, err := delivery.Open(0, network.Unlimited)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		var pairs, fellows []contest.Pair
		var ours, theirs, many *entry
		var opened uint64
		for pair := range b.Pairs {
			told := &delivery.Pushed{}
			ours = &entry{Contestant: delivery.Crowd(agents, told, &opened), told: told}
			load, when := delivery.Load{Bytes: crowdBytes, Repeats: 1}, fmt.Sprintf("pair %d of %d", pair+1, b.Pairs)
			if b.deliver(f, load, ours, when); ours.failed != nil {
				return []contest.Result{judged(c, pairs, ours)}, nil
			}
			theirs, many = &entry{Contestant: delivery.Handshakes(opened, agents, false)}, &entry{Contestant: delivery.Handshakes(opened, agents, true)}
			for _, e := range []*entry{theirs, many} {
				if b.deliver(f, load, e, when); e.failed != nil {
					return []contest.Result{judged(c, pairs, e)}, nil
				}
			}
			pairs = append(pairs, contest.Pair{Peer: theirs.samples[0].Seconds, Ours: ours.samples[0].Seconds})
			fellows = append(fellows, contest.Pair{Peer: many.samples[0].Seconds, Ours: ours.samples[0].Seconds})
		}
		b.record.Note("%d agents: %d connections were opened", agents, opened)
		same := contest.Contest{What: c.What, Peer: "the same, with as many processes as agents", Unit: c.Unit, Bound: crowdBound, AtMost: true}
		return []contest.Result{judged(c, pairs, ours, theirs), judged(same, fellows, ours, many)}, nil
	}
	return s
}
