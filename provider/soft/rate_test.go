package soft

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// sendFor has connections send as soon as they may, each time as many bytes as they may of size, for a virtual while. It returns how
// many each has sent.
func sendFor(t *testing.T, p *pacer, sizes []uint64, while time.Duration) []uint64 {
	t.Helper()
	begin := clock.Time(time.Hour)
	sent, all := make([]uint64, len(sizes)), make([]allowance, len(sizes))
	for now := begin; now < begin.Add(while); {
		next := clock.Never
		for i := range all {
			n := all[i].ask(p, sizes[i], now)
			if n > sizes[i] {
				t.Fatalf("of %d bytes %d may be sent", sizes[i], n)
			}
			all[i].spend(n)
			sent[i] += n
			if n == 0 {
				next = min(next, all[i].since)
			} else {
				next = now
			}
		}
		if next < now {
			t.Fatalf("at %v somebody should have sent since %v", now, next)
		}
		now = next
	}
	return sent
}

func sum(list []uint64) (n uint64) {
	for _, one := range list {
		n += one
	}
	return n
}

// In ten virtual seconds a device sends ten times its rate, and what it may catch up with; never more.
func TestRateOverAVirtualTime(t *testing.T) {
	for _, rate := range []uint64{1000, 64 << 10, 1_234_567, 100 << 20, 3 << 30, 100 << 30} {
		for _, sizes := range [][]uint64{{1 << 20}, {1, 1 << 20}, {64, 64, 64}, {1 << 20, 1 << 20, 1 << 20, 1 << 20}} {
			if rate/sizes[0] > 1<<18 {
				continue // too many to count
			}
			p := newPacer(rate)
			sent := sendFor(t, p, sizes, 10*time.Second)
			limit := float64(rate) * (10*time.Second + catchUp).Seconds()
			got := float64(sum(sent))
			if got > limit+float64(uint64(len(sizes))*p.portion) || got < 0.99*float64(rate)*10-float64(p.portion) {
				t.Errorf("rate %d, sizes %v: %.0f bytes were sent in 10 s", rate, sizes, got)
			}
		}
	}
}

// Who always has much to send does not starve those who have little.
func TestRateIsSharedInTurns(t *testing.T) {
	sent := sendFor(t, newPacer(10<<20), []uint64{1 << 20, 1 << 20, 1 << 20}, 10*time.Second)
	for _, n := range sent {
		if share := float64(n) / float64(sum(sent)); share < 0.3 || share > 0.37 {
			t.Errorf("of three equals one has sent %.2f", share)
		}
	}
}

// Who was away, or late, makes up for a few milliseconds only.
func TestRateForgetsThePast(t *testing.T) {
	p := newPacer(1 << 20)
	now := clock.Time(time.Hour)
	for range 3 {
		now = now.Add(time.Hour)
		var a allowance
		var got uint64
		for n := a.ask(p, 1<<20, now); n > 0; n = a.ask(p, 1<<20, now) {
			a.spend(n)
			got += n
		}
		if most := uint64(catchUp.Seconds()*(1<<20)) + p.portion; got == 0 || got > most {
			t.Errorf("%d bytes at once, want at most %d", got, most)
		}
	}
}

func TestBatchIsCut(t *testing.T) {
	for n := range 20 {
		b := &batch{}
		b.reset()
		for _, size := range []int{4, 1, 5, 3} {
			b.add(make([]byte, size))
		}
		b.cut(n)
		if want := min(n, 13); b.size != want || sizeOf(b.iovecs()) != uint64(want) {
			t.Errorf("cut to %d: %d bytes, in pieces of %d", n, b.size, sizeOf(b.iovecs()))
		}
	}
}

// On every lane the bytes of all connections of a device take as long together as its rate says, at least.
func TestRateOnAllLanes(t *testing.T) {
	a := newAuthority(t)
	const rate, size = 64 << 20, 3 << 20
	for name, config := range map[string]Config{
		"inproc": {Lanes: InProcess}, "shm": {Lanes: SharedMemory}, "tcp": {Lanes: TCP}, "tls": {Lanes: TCP, TLS: a.config(t, a)},
	} {
		t.Run(name, func(t *testing.T) {
			config.Rate = rate
			l := newLinkOn(t, config)
			carryAll(t, l)
			qa, qb := l.a.pair(), l.b.pair()
			join(l.a, qa, l.b, qb)
			receive(t, qb, driver.Receive{Tag: 9, Span: span(l.memb, 0, size)})
			began := clock.Real.Now()
			post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(l.mema, 0, size), Remote: remote(l.memb, 0, size)})
			post(t, qa, driver.Request{Tag: 1, Op: driver.OpSend, Span: span(l.mema, 0, size)})
			for range 2 {
				if c := l.a.next(l.b); c.Status != driver.OK {
					t.Fatal(c)
				}
			}
			took := clock.Real.Now().Sub(began) + catchUp + 2*portionTime
			if sent := float64(2*size) / took.Seconds(); sent > rate {
				t.Errorf("%.0f bytes a second were sent, allowed are %d", sent, rate)
			}
			l.b.expect(9, driver.OpReceive, driver.OK)
		})
	}
}

// Without a rate nobody asks.
func TestNoRate(t *testing.T) {
	if newPacer(0) != nil || newHost(t).device.pacer != nil {
		t.Error("there is a pacer")
	}
}
