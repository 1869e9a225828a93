package rdmc

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Members whose loops run on goroutines of their own, on each lane of the software NIC: first all goes well, then one ends
// without a word.
func TestLoops(t *testing.T) {
	for _, lane := range []soft.Lanes{soft.InProcess, soft.TCP} {
		for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant} {
			t.Run(lane.String()+"/"+algorithm.String(), func(t *testing.T) { testLoops(t, lane, algorithm) })
		}
	}
}

// heard is what a member's callbacks hand to the test.
type heard struct {
	*member
	events chan any // nil: ready; a Delivery; a *Failure; "closed"
}

func testLoops(t *testing.T, lane soft.Lanes, algorithm schedule.Algorithm) {
	const size, messages = 300_000, 8
	var all []*heard
	for rank := range 5 {
		h := &heard{&member{rank: rank}, make(chan any, 100)}
		nic, err := soft.New(soft.Config{Lanes: lane})
		check(t, err)
		h.open(t, nic, Config{Name: "g", Members: names(5), Self: rank, Algorithm: algorithm, BlockSize: 1 << 14}, size*messages)
		t.Cleanup(func() { check(t, h.close()) })
		h.group.config.Ready = func() { h.events <- nil }
		h.group.config.Completed = func(d Delivery) { h.events <- d }
		h.group.config.Failed = func(f *Failure) { h.events <- f }
		h.group.config.Closed = func() { h.events <- "closed" }
		all = append(all, h)
	}
	for _, h := range all {
		for _, peer := range h.group.Peers() {
			check(t, h.group.Connect(peer, all[peer].group.Addresses(h.rank)))
		}
	}
	for _, h := range all {
		check(t, h.loop.Start())
	}
	for _, h := range all {
		h.next(t)
	}
	all[0].sendMany(t, size, messages)
	for i := range messages {
		for _, h := range all {
			d, ok := h.next(t).(Delivery)
			if !ok || d.Number != uint64(i) || !bytes.Equal(h.memory.Bytes()[i*size:][:size], all[0].memory.Bytes()[i*size:][:size]) {
				t.Errorf("member %d: message %d is %+v", h.rank, i, d)
			}
		}
	}
	endAll(t, all)
}

// sendMany sends messages from the loop.
func (h *heard) sendMany(t *testing.T, size, messages uint64) {
	for range messages {
		place := h.fill(size)
		check(t, h.loop.Do(func() {
			if _, err := h.group.Send(place, size); err != nil {
				t.Error(err)
			}
		}))
	}
}

// next waits for the next event.
func (h *heard) next(t *testing.T) any {
	t.Helper()
	select {
	case event := <-h.events:
		return event
	case <-time.After(time.Minute):
		t.Fatalf("member %d hears nothing", h.rank)
		return nil
	}
}

// endAll lets the third member vanish, and the others close when they have heard of it.
func endAll(t *testing.T, all []*heard) {
	check(t, all[2].loop.Close())
	all[2].group.Discard()
	for _, h := range all {
		if h.rank == 2 {
			continue
		}
		if f, ok := h.next(t).(*Failure); !ok || f.Rank != 2 || !errors.Is(f, ErrDied) {
			t.Errorf("member %d heard %v", h.rank, f)
		}
		check(t, h.loop.Do(func() { _ = h.group.Close() }))
		if event := h.next(t); event != "closed" {
			t.Errorf("member %d heard %v", h.rank, event)
		}
	}
}
