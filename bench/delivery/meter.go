package delivery

import (
	"errors"
	"sync"
	"time"

	"github.com/weft-fabric/weft/rig/links/network"
)

// Meter's steps, and what passes a link besides the object, at most: greetings before, farewells after.
const (
	meterStep = 10 * time.Millisecond
	smallTalk = 64 << 10
	mostLooks = 60_000 // ten minutes
)

// look is what had arrived at every host at one time.
type look struct {
	at       time.Time
	received []uint64
}

// meter looks at the links again and again.
type meter struct {
	network *network.Network
	looks   []look
	err     error
	stopped chan struct{}
	running sync.WaitGroup
}

func startMeter(n *network.Network) *meter {
	m := &meter{network: n, stopped: make(chan struct{})}
	m.running.Go(m.runLooks)
	return m
}

// runLooks looks until stop.
func (m *meter) runLooks() {
	ticks := time.NewTicker(meterStep)
	defer ticks.Stop()
	for m.err == nil && len(m.looks) < mostLooks {
		m.look()
		select {
		case <-ticks.C:
		case <-m.stopped:
			m.look()
			return
		}
	}
}

func (m *meter) look() {
	received, err := m.network.Received()
	if err != nil {
		m.err = err
		return
	}
	m.looks = append(m.looks, look{time.Now(), received})
}

// stop returns when the object began to arrive at the first receiver and when all of it had arrived at the last.
func (m *meter) stop() (first, last time.Time, err error) {
	close(m.stopped)
	m.running.Wait()
	if m.err != nil {
		return first, last, m.err
	}
	return span(m.looks)
}

// span finds the first look at which some receiver had more than small talk, and the first at which none was still to get
// more than that. Both are late by a step at most. The first host is the sender.
func span(looks []look) (first, last time.Time, err error) {
	begin, end := looks[0].received, looks[len(looks)-1].received
	for _, l := range looks {
		some, all := false, true
		for host := 1; host < len(begin); host++ {
			some = some || l.received[host] > begin[host]+smallTalk
			all = all && l.received[host]+smallTalk >= end[host]
		}
		if some && first.IsZero() {
			first = l.at
		}
		if some && all {
			return first, l.at, nil
		}
	}
	return first, last, errors.New("hardly anything has arrived over the links")
}
