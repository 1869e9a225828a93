package push

import (
	"context"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

const (
	worthProbing  = 8 << 20               // bytes of content, from which on the rate of the links matters
	probeHosts    = 3                     // that are asked, one after the other
	probeFirst    = 256 << 10             // bytes of the first probe; each is twice as large
	probeLast     = 4 << 20               //
	probeTime     = 40 * time.Millisecond // after which a probe is long enough
	probeSure     = 20 * time.Millisecond // that the last one took at least, if links decide how fast it is; otherwise it is processors, which encrypt
	probePatience = 3 * time.Second
	probeShare    = 100 * time.Millisecond // of sending at the limit, if there is one: a probe has no more bytes, and the next waits until they are due
)

// probe measures the links to some hosts, and takes the fastest: one of them may be the slow one. Where it cannot be measured, what the
// agents say of their network interfaces has to do.
func (p *pusher) probe(ctx context.Context, all []*host) (best links) {
	for _, h := range all[:min(probeHosts, len(all))] {
		if l := p.probeOne(ctx, h); l.rate > best.rate {
			best = l
		}
	}
	if best.rate > 0 {
		return best
	}
	for _, h := range all {
		if r := float64(h.greeting.Link); r > 0 && (best.rate == 0 || r < best.rate) {
			best.rate = r
		}
	}
	return best
}

// probeOne has an agent read bytes from here, more and more, until that takes long enough to tell the rate.
func (p *pusher) probeOne(ctx context.Context, h *host) (l links) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	return p.probeBy(ctx, func(size int) (time.Duration, error) { return p.probeTook(ctx, h, size) })
}

// probeBy measures a link by something that has so many bytes cross it, and says how long that took.
func (p *pusher) probeBy(ctx context.Context, cross func(size int) (time.Duration, error)) (l links) {
	empty, err := cross(0)
	if err != nil {
		return l
	}
	l.latency = empty / 2
	for size := probeFirst; size <= p.mostProbed(); size *= 2 {
		took, err := cross(size)
		if err != nil {
			return l
		}
		l.measured(size, took-empty)
		p.keepToLimit(ctx, size, took)
		if took > probeTime {
			break
		}
	}
	return l
}

// mostProbed is how many bytes a probe may have.
func (p *pusher) mostProbed() int {
	if p.Rate == 0 {
		return probeLast
	}
	return int(min(float64(p.Rate)*probeShare.Seconds(), probeLast))
}

// keepToLimit waits until so many bytes may have been sent at the limit, if there is one, of which sending took a part already.
func (p *pusher) keepToLimit(ctx context.Context, size int, took time.Duration) {
	if p.Rate == 0 {
		return
	}
	due := time.NewTimer(timeFor(uint64(size), float64(p.Rate)) - took)
	defer due.Stop()
	select {
	case <-due.C:
	case <-ctx.Done():
	}
}

// measured takes down that so many bytes took so long, besides what an empty message takes.
func (l *links) measured(size int, took time.Duration) {
	l.rate = float64(size) * 8 / max(took, time.Microsecond).Seconds()
	l.isMost = took >= probeSure
}

// probeTook is how long it takes an agent to read so many bytes.
func (p *pusher) probeTook(ctx context.Context, h *host, size int) (time.Duration, error) {
	began := time.Now()
	m, err := send(ctx, p.node, h, control.MethodProbe, make([]byte, size))
	if err != nil {
		return 0, err
	}
	m.Release()
	return time.Since(began), nil
}
