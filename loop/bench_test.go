package loop_test

import (
	"context"
	"testing"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
)

// BenchmarkBlankTurn is a turn that finds nothing to do: how often a loop that polls looks.
func BenchmarkBlankTurn(b *testing.B) {
	for name, timer := range map[string]bool{"bare": false, "timer": true} {
		b.Run(name, func(b *testing.B) {
			h := newHost(soft.Config{Lanes: soft.InProcess}, loop.Polling())
			defer h.close()
			c := h.newCaller(false)
			if timer {
				c.port.After(time.Hour, 0)
			}
			for b.Loop() {
				_, _ = h.loop.Turn()
			}
		})
	}
}

// BenchmarkSharedRound is a message to the same device and back, by Do and Await.
func BenchmarkSharedRound(b *testing.B) {
	h := newHost(soft.Config{Lanes: soft.InProcess}, loop.Polling())
	defer h.close()
	asks := meet(h, h)
	shared, err := loop.NewShared(h.loop)
	check(err)
	ask := func() { asks.ask(0) }
	b.ReportAllocs()
	for b.Loop() {
		check(shared.Do(ask))
		check(shared.Await(context.Background(), &asks.events[0]))
	}
	check(shared.Close())
}
