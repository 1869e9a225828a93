package multicast

import (
	"errors"
	"runtime"

	"github.com/weft-fabric/weft/bench/delivery"
)

// linkRates are those that links may have: the usual one, and one for slow cores.
var linkRates = [2]string{"200mbit", "100mbit"}

// busiest is how much of the cores' time our processes may take during a delivery on links of the usual rate. The kernel forwards
// between the hosts besides: with 16 hosts on two slow cores the cores would be measured, not the links.
const busiest = 0.4

// open makes hosts, with links at a rate that the cores can bear. That is found out by a delivery, once for each number of
// receivers.
func (b *bench) open(receivers int) (*delivery.Field, error) {
	if rate := b.rates[receivers]; rate != "" {
		return delivery.Open(receivers, rate)
	}
	f, err := delivery.Open(receivers, linkRates[0])
	if err != nil {
		return nil, err
	}
	e := &entry{Contestant: delivery.Weft(ours[0], 0)}
	b.deliver(f, delivery.Load{Bytes: probeBytes, Repeats: 1}, e, "whether the cores bear "+linkRates[0])
	b.rates[receivers] = linkRates[0]
	if tooBusy := e.failed == nil && e.busy(runtime.NumCPU()) > busiest; !tooBusy {
		return f, nil // who fails here fails in the rounds, too
	}
	b.rates[receivers] = linkRates[1]
	b.record.Note("%d receivers: links of %s, because at %s our processes alone take %.0f %% of the cores", receivers, linkRates[1], linkRates[0],
		100*e.busy(runtime.NumCPU()))
	if err := errors.Join(f.Close(), b.ctx.Err()); err != nil {
		return nil, err
	}
	return delivery.Open(receivers, linkRates[1])
}

// busy is how much of so many cores' time the first delivery took.
func (e *entry) busy(cores int) float64 {
	return e.samples[0].CPU / (e.samples[0].Seconds * float64(cores))
}
