package push

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/weft-fabric/weft/push/hosts"
	"github.com/weft-fabric/weft/push/member"
)

// The ways of data.
const (
	wayIBV = "ibv"
	wayShm = "shm"
	wayTCP = "tcp"
)

// commonWays are those that this end and all hosts have, the best first. Hardware cannot be slowed down, and on one host memory is faster. Why
// says what keeps RDMA from being used, if anybody has it.
func commonWays(own []string, all []*host, slowed, local bool) (ways []string, why string) {
	useful := map[string]bool{wayIBV: !slowed, wayShm: local || shareHost(all)}
	order := []string{wayIBV, wayShm}
	if local {
		order = []string{wayShm, wayIBV}
	}
	for _, way := range order {
		if slices.Contains(own, way) && len(without(all, way)) == 0 && useful[way] {
			ways = append(ways, way)
		}
	}
	if !local && !slices.Contains(ways, wayIBV) {
		why = whyNotRDMA(own, all)
	}
	return append(ways, wayTCP), why
}

// shareHost reports whether two of the members are on one host, by what hosts call themselves: elsewhere shared memory would be named, and never
// taken.
func shareHost(all []*host) bool {
	own, _ := os.Hostname()
	seen := map[string]bool{own: true}
	for _, h := range all {
		if seen[h.greeting.Host] {
			return true
		}
		seen[h.greeting.Host] = true
	}
	return false
}

// without are the hosts that do not have a way.
func without(all []*host, way string) []*host {
	return those(all, func(h *host) bool { return !slices.Contains(h.greeting.Ways, way) })
}

func whyNotRDMA(own []string, all []*host) string {
	lacking := without(all, wayIBV)
	switch here := slices.Contains(own, wayIBV); {
	case !here && len(lacking) == len(all):
		return ""
	case !here:
		return "this host has no RDMA device that works: weft doctor says why"
	case len(lacking) == 0:
		return "RDMA devices cannot be slowed down to the limit"
	}
	var names []string
	for _, h := range lacking {
		names = append(names, h.name)
	}
	return hosts.Fold(names) + ": no RDMA device that works; weft doctor there says why"
}

// chooseWay takes what was asked for, or the best.
func (p *pusher) chooseWay(all []*host) {
	ways := []string{p.Way}
	if p.Way == Auto {
		ways, p.notRDMA = commonWays(p.place.Ways(), all, p.Rate > 0, isLocal(all))
	}
	p.way, p.otherWays = ways[0], ways[1:]
}

// errWay is that hosts cannot meet by RDMA, although each of them has it: its devices may stand in networks that are not connected.
var errWay = errors.New("RDMA does not lead to all hosts")

// isDoubtful reports whether it is not certain yet that the way leads to all hosts, and there is another one. RDMA devices are connected without a
// word to each other: that they do not reach each other shows when something is sent. Once it has arrived the way is good.
func (p *pusher) isDoubtful() bool { return p.way == wayIBV && len(p.otherWays) > 0 && !p.isProven }

// doubts is an errWay, if the way might be to blame for what went wrong when a group was formed; nil: somebody else is.
func (p *pusher) doubts(own error, errs []error) error {
	if !p.isDoubtful() {
		return nil
	}
	why := own
	for _, err := range errs {
		if isUnreachable(err) || isAuthorization(err) {
			return nil
		}
		why = orFirst(why, err)
	}
	if why == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errWay, why)
}

func orFirst(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// fallBack has the push go by the next best way, and tells of it. Blocks stay as they were chosen.
func (p *pusher) fallBack(why error) error {
	p.way, p.otherWays, p.notRDMA = p.otherWays[0], p.otherWays[1:], why.Error()
	changed := *p.plan
	changed.Way, changed.Encrypted, changed.NotRDMA = p.way, encryptionOf(p.way, p.Plain), p.notRDMA
	p.plan = &changed
	p.planned.Store(p.plan)
	p.emit(Event{Kind: EventPlan, Plan: p.plan})
	if err := errors.Join(p.member.Close(), p.device.Close()); err != nil {
		p.Log.Warn("the RDMA device was not closed well", "error", err)
	}
	p.member, p.device = nil, nil
	return p.join()
}

// join opens this end of the groups.
func (p *pusher) join() error {
	device, err := p.place.Device(p.id, p.way, p.Plain, p.Rate)
	if err != nil {
		return fmt.Errorf("open a way for data: %w", err)
	}
	p.device = device
	p.member, err = member.Open(member.Config{Device: device, Memory: p.memoryNeeded(), Log: p.Log})
	return err
}

// encryptionOf says what is encrypted, for people.
func encryptionOf(way string, plain bool) string {
	switch {
	case way == wayIBV:
		return "data goes over RDMA and is not encrypted; control is"
	case way == wayShm && plain:
		return "data is not encrypted, neither in shared memory nor over TCP (--plain); control is"
	case way == wayShm:
		return "data over TCP and control are encrypted; data between processes of one host goes through shared memory and is not"
	case plain:
		return "data is not encrypted (--plain); control is"
	}
	return "data and control are encrypted"
}

// isLocal reports whether all agents are on this host.
func isLocal(all []*host) bool {
	return len(those(all, func(h *host) bool {
		name, _, err := net.SplitHostPort(h.address)
		return err != nil || name != "localhost" && !net.ParseIP(name).IsLoopback()
	})) == 0
}
