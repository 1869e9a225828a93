package link

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Two services: the first gives nothing back, the second everything.
var (
	idle   = wire.NameID("idle")
	lively = wire.NameID("lively")
)

func letterTo(to wire.ID, kind wire.Type, items ...string) *letter {
	l := newLetter(kind, items...)
	l.Head.To = to
	return l
}

// sendMany sends so many numbered messages to a service.
func (w *world) sendMany(l *Link, to wire.ID, n int) (letters []*letter) {
	w.t.Helper()
	for i := range n {
		letters = append(letters, letterTo(to, wire.Send, fmt.Sprint(i)))
		check(w.t, l.Send(&letters[i].Outgoing))
	}
	return letters
}

// arrivedTo is what has arrived for a service.
func (p *process) arrivedTo(to wire.ID) (list []*arrival) {
	for _, a := range p.arrived {
		if a.head.To == to {
			list = append(list, a)
		}
	}
	return list
}

// answerOthers answers at once what is not for the service that is idle.
func (p *process) answerOthers() {
	p.on = func(got *arrival) {
		if got.head.To == idle {
			return
		}
		answer := answerTo(got, got.items...)
		check(p.world.t, got.link.Send(&answer.Outgoing))
		got.slot.Release()
	}
}

// stoppedPair are two processes, of which the first has sent more to an idle service of the second than that may hold.
func (w *world) stoppedPair(config Config, n int) (a, b *process, there, back *Link, letters []*letter) {
	w.t.Helper()
	a, b = w.newProcess(Config{}), w.newProcess(config)
	b.answerOthers()
	there, back = w.join(a, b)
	letters = w.sendMany(there, idle, n)
	w.until("the idle service has enough", func() bool { return there.aside[idle] != nil })
	return a, b, there, back, letters
}

// checkOrder finds what came to a service out of order, or not at all.
func (p *process) checkOrder(to wire.ID, n int) {
	p.world.t.Helper()
	list := p.arrivedTo(to)
	if len(list) != n {
		p.world.t.Errorf("%d of %d have come", len(list), n)
	}
	for i, a := range list {
		if a.items[0] != fmt.Sprint(i) {
			p.world.t.Fatalf("message %d says %q", i, a.items[0])
		}
	}
}

// A service that gives nothing back holds up those who send to it, and nobody else. When it goes on, nothing was lost, and all is in order.
func TestASlowServiceHoldsUpItself(t *testing.T) {
	for _, window := range []int{1, 2, 8, 64, 1024, 4096} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			everywhere(t, func(w *world) {
				messages := min(max(500, 3*window), 4000)
				a, b, there, back, _ := w.stoppedPair(Config{Window: window, FirstWindow: min(window, 2)}, messages)
				for i := range 200 {
					call := letterTo(lively, wire.Call, fmt.Sprint(i))
					check(w.t, there.Send(&call.Outgoing))
					w.until("the lively service answers", func() bool { return call.answered == 1 })
					call.slot.Release()
				}
				if n := len(b.arrivedTo(idle)); n < min(window, 256) || n > 2*window {
					w.t.Errorf("the idle service holds %d messages, its window is %d", n, window)
				}
				for i := range messages + 200 {
					w.until("it goes on", func() bool { return len(b.arrived) > i })
					if got := b.arrived[i]; got.head.To == idle {
						got.slot.Release()
					}
				}
				b.checkOrder(idle, messages)
				w.until("all is quiet", func() bool { return there.IsIdle() && back.IsIdle() && there.aside == nil })
				if b.hub.promised != back.window+wordRoom || b.hub.excused+back.excused+back.stopped != 0 || a.hub.promised != there.window+wordRoom {
					w.t.Errorf("%d receives are promised, the window is %d; %d excused, %d services stopped", b.hub.promised, back.window, back.excused, back.stopped)
				}
			})
		})
	}
}

// Many services that hold one message each hold up nobody, either.
func TestManySlowServicesTogether(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{Window: 1, FirstWindow: 1})
		there, back := w.join(a, b)
		const services = maxStops + 6
		for i := range 2 * services {
			check(w.t, there.Send(&letterTo(wire.NameID(fmt.Sprint(i%services)), wire.Send, "0").Outgoing))
		}
		w.until("as many are stopped as may be, and the others got theirs", func() bool { return len(there.aside) == maxStops && len(b.arrived) >= services })
		w.while(10 * time.Millisecond)
		if n := len(b.arrived); n == 2*services || len(a.ended)+len(b.ended) > 0 {
			w.t.Errorf("%d have come, the ends: %v, %v", n, a.ended, b.ended)
		}
		for i := range 2 * services {
			w.until("the next one comes", func() bool { return len(b.arrived) > i })
			b.arrived[i].slot.Release()
		}
		w.until("all is quiet", func() bool { return there.IsIdle() && back.IsIdle() && there.aside == nil })
	})
}

// Whoever is slow, and whenever: nothing is lost, and what is for one service comes in order.
func TestWhoIsSlowChanges(t *testing.T) {
	for seed := range uint64(20) {
		fabric, err := sim.New(sim.Config{Seed: seed})
		check(t, err)
		w, dice := &world{t: t, fabric: fabric}, rand.New(rand.NewPCG(seed, 0))
		a, b := w.newProcess(Config{}), w.newProcess(Config{Window: 1 + dice.IntN(16), MaxSlots: 64 << dice.IntN(4)})
		there, back := w.join(a, b)
		services := []wire.ID{alice, bob, idle, lively}
		held, sent := make([][]*Slot, len(services)), make([]int, len(services))
		b.on = func(got *arrival) {
			for i := range services {
				if got.head.To == services[i] {
					held[i] = append(held[i], got.slot)
				}
			}
		}
		for range 2000 {
			i := dice.IntN(len(services))
			switch one := dice.IntN(8); {
			case one < 4:
				check(t, there.Send(&letterTo(services[i], wire.Send, fmt.Sprint(sent[i])).Outgoing))
				sent[i]++
			case one < 7 && len(held[i]) > 0:
				at := dice.IntN(len(held[i]))
				held[i][at].Release()
				held[i] = append(held[i][:at], held[i][at+1:]...)
			default:
				w.while(time.Duration(dice.IntN(20)) * time.Microsecond)
			}
		}
		w.until("all have come, as they are released", func() bool {
			for i := range held {
				for _, s := range held[i] {
					s.Release()
				}
				held[i] = nil
			}
			return len(b.arrived) == sent[0]+sent[1]+sent[2]+sent[3]
		})
		for i, to := range services {
			b.checkOrder(to, sent[i])
		}
		w.until("all is quiet", func() bool { return there.IsIdle() && back.IsIdle() && there.aside == nil })
		if b.hub.promised != back.window+wordRoom || b.hub.excused != 0 {
			t.Fatalf("seed %d: %d receives are promised, the window is %d; %d are excused", seed, b.hub.promised, back.window, b.hub.excused)
		}
	}
}

// What was set aside can be found, taken back, and is told when its link is left or ends.
func TestWhatIsSetAsideIsNotForgotten(t *testing.T) {
	everywhere(t, func(w *world) {
		_, b, there, back, letters := w.stoppedPair(Config{Window: 2}, 20)
		last := letters[19]
		if there.MaySend(idle) || !there.MaySend(lively) || there.IsIdle() {
			w.t.Error("only the idle service is not to be sent to")
		}
		if n := len(there.UnderWay(idle)); n != there.countUnsent()+there.unheard.Len() && n < there.countUnsent() {
			w.t.Errorf("%d are under way, %d were set aside", n, there.countUnsent())
		}
		if !there.Cancel(&last.Outgoing) || there.Cancel(&last.Outgoing) || there.Cancel(&letters[0].Outgoing) {
			w.t.Error("what was set aside can be taken back, once, and what was sent cannot")
		}
		for i := 0; back.held() > 0; i++ {
			b.arrived[i].slot.Release()
		}
		if back.IsIdle() {
			w.t.Error("what is excused is forgotten")
		}
		there.Leave()
		if before := letters[18]; before.sent != 1 || !errors.Is(before.sentErr, ErrNotSent) || last.sent != 0 {
			w.t.Errorf("told %d times: %v; what was taken back is told %d times", before.sent, before.sentErr, last.sent)
		}
		for _, got := range b.arrived {
			got.slot.Release()
		}
		w.until("both have left", func() bool { return there.HasEnded() && back.HasEnded() })
		if b.hub.promised != 0 || b.hub.excused != 0 {
			w.t.Errorf("%d receives are promised to nobody, %d of them excused", b.hub.promised, b.hub.excused)
		}
	})
}

// A link that is left ends when the last message is given back that was excused, also if its service never had enough.
func TestTheLastThatIsExcusedEndsALinkThatIsLeft(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{Window: 4})
		there, back := w.join(a, b)
		there.Keep(1) // or it would end first
		w.sendMany(there, idle, 4)
		w.until("all have come", func() bool { return len(b.arrived) == 4 })
		there.Leave()
		for _, got := range b.arrived[:3] {
			got.slot.Release()
		}
		w.until("nothing is under way", func() bool { return back.saidFarewell && back.flight.Empty() && !back.hasNews() && !back.wordSet })
		if back.held() > 0 || back.excused != 1 || back.HasEnded() {
			w.t.Fatalf("%d have a place, %d are excused; %v", back.held(), back.excused, b.ended)
		}
		b.arrived[3].slot.Release()
		if !back.HasEnded() {
			w.t.Error("it goes on")
		}
		there.Close()
	})
}

// A peer that goes is noticed although nothing is under way but what waits for it; what it holds is given back.
func TestThePeerGoesWhileItIsWaitedFor(t *testing.T) {
	for name, change := range map[string]func(b *process){"a service": func(*process) {}, "a credit": func(b *process) { b.full() }} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(w *world) {
				a, b := w.newProcess(Config{}), w.newProcess(Config{Window: 2})
				change(b)
				there, back := w.join(a, b)
				w.while(2 * watchEvery)
				for _, l := range w.sendMany(there, idle, 20) {
					w.until("it is sent, or waits", func() bool { return l.sent > 0 || len(b.arrived) >= 2 && there.unheard.Empty() && there.flight.Empty() })
					there.Cancel(&l.Outgoing)
				}
				w.while(2 * watchEvery)
				last := letterTo(idle, wire.Send, "waits")
				check(w.t, there.Send(&last.Outgoing))
				w.while(2 * watchEvery)
				back.Close()
				w.until("it is noticed", func() bool { return len(a.ended) == 1 })
				if last.sent != 1 || !errors.Is(last.sentErr, ErrNotSent) {
					w.t.Errorf("told %d times: %v", last.sent, last.sentErr)
				}
				for _, got := range b.arrived {
					got.slot.Release()
				}
				if b.hub.promised != 0 {
					w.t.Errorf("%d receives are promised to nobody", b.hub.promised)
				}
			})
		})
	}
}

// A Go that finds no room to be said is said later.
func TestGoIsSaidWhenThereIsRoom(t *testing.T) {
	everywhere(t, func(w *world) {
		_, b, there, back, letters := w.stoppedPair(Config{Window: 4, SendDepth: 2 * wire.MaxList}, 20)
		w.until("nothing is under way", func() bool { return back.flight.Empty() && there.unheard.Empty() })
		there.idle = -back.pair.Room() // it would not put up with so many words
		for back.pair.Room() > 0 {
			back.sendWord(wire.Head{Type: wire.Word})
		}
		for _, got := range b.arrived {
			got.slot.Release()
		}
		if !back.unregulated {
			w.t.Fatal("there was room")
		}
		b.on = func(got *arrival) { got.slot.Release() }
		w.until("all have come", func() bool { return len(b.arrived) == len(letters) && there.IsIdle() })
	})
}

// A peer that says what cannot be of services loses its link.
func TestAPeerThatStopsWithoutReason(t *testing.T) {
	stop, proceed := wire.Head{Type: wire.Stop, To: bob, Credit: 2}, wire.Head{Type: wire.Go, To: bob, Credit: 2}
	other := stop
	other.To = alice
	for name, heads := range map[string][]wire.Head{
		"a service that may be sent to":  {proceed},
		"a service twice":                {stop, stop},
		"more often than it was sent to": {stop, proceed, stop, proceed, other},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(w *world) {
				p := w.newProcess(Config{})
				i, l := w.intrude(p)
				w.sendMany(l, bob, 2)
				i.sayUntilEnded(p, heads)
			})
		})
	}
}

// sayUntilEnded says one thing after the other, of which the last one costs the link with p.
func (i *intruder) sayUntilEnded(p *process, heads []wire.Head) {
	w := i.world
	w.t.Helper()
	for n, head := range heads {
		if len(p.ended) > 0 {
			w.t.Fatalf("too early, after %d: %v", n, p.ended)
		}
		i.say((&wire.Message{Head: head}).Append(nil))
		w.while(time.Millisecond)
	}
	w.until("the link has ended", func() bool { return len(p.ended) == 1 })
	if !errors.Is(p.ended[0], ErrPeer) {
		w.t.Errorf("%v", p.ended[0])
	}
}

// No peer has more services wait than fit.
func TestAPeerStopsOnlySoMany(t *testing.T) {
	everywhere(t, func(w *world) {
		p := w.newProcess(Config{})
		i, l := w.intrude(p)
		l.credit = 2 * maxStops
		w.sendMany(l, bob, maxStops+1)
		var stops []wire.Head
		for n := range maxStops + 1 {
			stops = append(stops, wire.Head{Type: wire.Stop, To: wire.NameID(fmt.Sprint(n)), Credit: l.credit})
		}
		i.sayUntilEnded(p, stops)
	})
}

// A peer that goes on sending to a service that has enough holds up itself, and gets no more receives than an honest one.
func TestAPeerThatDoesNotStop(t *testing.T) {
	everywhere(t, func(w *world) {
		const window = 8
		p := w.newProcess(Config{FirstWindow: window, Window: window})
		i, l := w.intrude(p)
		m := &wire.Message{Head: wire.Head{Type: wire.Send, From: alice, To: bob, Credit: 2}}
		for l.left() > 0 {
			m.Head.Number++
			i.say(m.Append(nil))
			w.until("it has come", func() bool { return len(p.arrived) == int(m.Head.Number) })
			w.while(time.Millisecond)
		}
		if n := len(p.arrived); n < window || n > 3*window || l.held() != window || len(p.ended) > 0 {
			w.t.Errorf("%d have come, %d of them in the window; %v", n, l.held(), p.ended)
		}
		i.say(m.Append(nil))
		w.until("the link has ended", func() bool { return len(p.ended) == 1 })
		for _, got := range p.arrived {
			got.slot.Release()
		}
		if p.hub.promised != 0 || p.hub.excused != 0 {
			w.t.Errorf("%d receives are promised to nobody, %d of them excused", p.hub.promised, p.hub.excused)
		}
	})
}

// Half of all receives stay for windows and answers, and no peer gets all the others.
func TestExcusesEnd(t *testing.T) {
	everywhere(t, func(w *world) {
		a, b := w.newProcess(Config{}), w.newProcess(Config{MaxSlots: 64, Window: 2})
		var links []*Link
		for range 8 {
			there, back := w.join(a, b)
			links = append(links, back)
			for service := range 16 {
				w.sendMany(there, wire.NameID(fmt.Sprint(service)), 8)
			}
			w.while(5 * time.Millisecond)
		}
		if b.hub.excused == 0 || b.hub.excused > 32 {
			w.t.Errorf("%d of 64 are excused", b.hub.excused)
		}
		for _, l := range links {
			if l.excused > 8 {
				w.t.Errorf("one peer has %d of 64", l.excused)
			}
		}
	})
}
