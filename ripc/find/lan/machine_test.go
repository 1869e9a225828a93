package lan

import (
	"errors"
	"fmt"
	"math/rand"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// world is some machines on a network, in virtual time.
type world struct {
	t     *testing.T
	now   clock.Time
	seed  int64
	loss  float64
	rand  *rand.Rand
	hosts []*host
	wire  []flight
}

// host is one machine. While it is stopped it does nothing, and what arrives waits.
type host struct {
	*machine
	name    netip.AddrPort
	side    int // hosts hear those of the same side
	stopped bool
	queue   []flight
	told    []find.Change
}

// flight is a packet on its way.
type flight struct {
	at       clock.Time
	from, to *host
	packet
}

const lease = time.Second

func newWorld(t *testing.T, hosts int, seed int64) *world {
	w := &world{t: t, now: 1e9, seed: seed, rand: rand.New(rand.NewSource(seed))}
	for i := range hosts {
		w.hosts = append(w.hosts, &host{machine: newMachine(lease),
			name: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 1)})
	}
	return w
}

// claim begins to claim a service for a host.
func (w *world) claim(n int, name string) *service {
	h := w.hosts[n]
	return h.claim(w.now, int64(w.now), named(name, byte(n+1)))
}

// run lets time pass, in steps of a millisecond.
func (w *world) run(d time.Duration) {
	for end := w.now.Add(d); w.now < end; w.now += 1e6 {
		w.step()
	}
}

func (w *world) step() {
	flying := w.wire
	w.wire = nil
	for _, f := range flying {
		if f.at > w.now {
			w.wire = append(w.wire, f)
		} else if f.from.side == f.to.side {
			f.to.queue = append(f.to.queue, f)
		}
	}
	for _, h := range w.hosts {
		if h.stopped {
			continue
		}
		for _, f := range h.queue {
			h.take(w.now, f.from.name, &f.packet)
		}
		h.queue = nil
		h.tick(w.now)
		w.send(h)
		h.told = append(h.told, h.changes...)
		h.changes = nil
	}
}

func (w *world) send(from *host) {
	for _, o := range from.out {
		o.lease = from.lease
		for _, to := range w.hosts {
			if to != from && (o.to == everybody || o.to == to.name) && w.rand.Float64() >= w.loss {
				w.wire = append(w.wire, flight{w.now + 1e6 + clock.Time(w.rand.Intn(5e6)), from, to, o.packet})
			}
		}
	}
	from.out = nil
}

// valid reports whether a claim is valid now.
func (w *world) valid(s *service) bool { return w.now < s.hold.ValidUntil() }

// held fails the test unless a claim is held and valid.
func (w *world) held(s *service) {
	w.t.Helper()
	if !w.valid(s) || s.state != held || s.hold.Err() != nil {
		w.t.Fatalf("at %v: state %d, valid until %v, %v", w.now, s.state, s.hold.ValidUntil(), s.hold.Err())
	}
}

func (w *world) ended(s *service, why error) {
	w.t.Helper()
	if !errors.Is(s.hold.Err(), why) || w.valid(s) {
		w.t.Fatalf("at %v: ended with %v, want %v", w.now, s.hold.Err(), why)
	}
	<-s.settled
}

func TestAClaimHoldsAfterALeaseOfSilence(t *testing.T) {
	w := newWorld(t, 3, 1)
	s := w.claim(0, "kv")
	w.run(lease - 10e6)
	if s.state != probing || w.valid(s) {
		t.Fatal("it did not listen for a lease")
	}
	w.run(20e6)
	<-s.settled
	for range 50 {
		w.held(s)
		w.run(100 * time.Millisecond)
	}
	for _, h := range w.hosts {
		if records := h.known(w.now, wire.NameID("kv")); len(records) != 1 || records[0].Node != node(1) {
			t.Errorf("%v knows %v", h.name, records)
		}
	}
	if told := w.hosts[1].told; len(told) != 1 || told[0].What != find.Came {
		t.Errorf("told %v", told)
	}
}

func TestALiveHolderDefendsItself(t *testing.T) {
	w := newWorld(t, 2, 1)
	s := w.claim(0, "kv")
	w.run(2 * lease)
	other := w.claim(1, "kv")
	if other.record.Epoch <= s.record.Epoch {
		t.Errorf("epoch %d follows %d", other.record.Epoch, s.record.Epoch)
	}
	w.run(100 * time.Millisecond)
	w.ended(other, find.ErrTaken)
	w.held(s)
}

func TestOfManyWhoClaimTheFirstGoesOn(t *testing.T) {
	w := newWorld(t, 5, 1)
	var all []*service
	for n := range w.hosts {
		all = append(all, w.claim(n, "kv"))
		w.run(time.Duration(w.rand.Intn(200)) * time.Millisecond)
	}
	w.run(2 * lease)
	w.held(all[0])
	for _, s := range all[1:] {
		w.ended(s, find.ErrTaken)
	}
}

func TestAServiceOfTheDeadIsFreeWhenTheirLeaseIsOver(t *testing.T) {
	w := newWorld(t, 2, 1)
	s := w.claim(0, "kv")
	w.run(2 * lease)
	w.hosts[0].stopped = true
	next := w.claim(1, "kv")
	for !w.valid(next) {
		if w.run(1e6); w.valid(s) && w.valid(next) {
			t.Fatal("both are valid")
		}
	}
	w.held(next)
	if until := s.hold.ValidUntil(); w.now-until > clock.Time(lease) {
		t.Errorf("it took from %v to %v", until, w.now)
	}
}

func TestWhoWasStoppedAsksBeforeItIsValid(t *testing.T) {
	w := newWorld(t, 2, 1)
	s := w.claim(0, "kv")
	w.run(2 * lease)
	w.hosts[0].stopped = true
	w.run(lease)
	w.hosts[0].stopped = false
	w.run(lease - 10e6)
	if s.state != doubtful || w.valid(s) {
		t.Fatalf("state %d, valid until %v", s.state, s.hold.ValidUntil())
	}
	w.hosts[0].stopped = true // what it did not ask was not answered: the silence does not count
	w.run(lease)
	w.hosts[0].stopped = false
	w.run(lease - 10e6)
	if s.state != doubtful || w.valid(s) {
		t.Fatalf("state %d, valid until %v", s.state, s.hold.ValidUntil())
	}
	w.run(20e6)
	w.held(s)
}

func TestWhoWasStoppedLearnsThatItWasSuperseded(t *testing.T) {
	w := newWorld(t, 2, 1)
	s := w.claim(0, "kv")
	w.run(2 * lease)
	w.hosts[0].stopped = true
	w.run(10e6)
	next := w.claim(1, "kv")
	w.run(2 * lease)
	w.held(next)
	w.hosts[0].stopped = false
	w.run(100 * time.Millisecond)
	w.ended(s, find.ErrSuperseded)
	w.held(next)
}

func TestOfTwoHoldersTheHigherEpochWinsWhenTheyMeet(t *testing.T) {
	w := newWorld(t, 2, 1)
	w.hosts[0].side = 1
	a := w.claim(0, "kv")
	w.run(10e6)
	b := w.claim(1, "kv")
	w.run(2 * lease)
	w.held(a)
	w.held(b)
	w.hosts[0].side = 0
	w.run(lease)
	w.ended(a, find.ErrSuperseded)
	w.held(b)
	var superseded *find.SupersededError
	if !errors.As(a.hold.Err(), &superseded) || superseded.By.Node != node(2) {
		t.Error(a.hold.Err())
	}
}

func TestWithdrawnServicesAreForgotten(t *testing.T) {
	w := newWorld(t, 2, 1)
	s := w.claim(0, "kv")
	w.run(2 * lease)
	w.hosts[0].withdraw(s, find.ErrWithdrawn)
	w.run(20e6)
	w.ended(s, find.ErrWithdrawn)
	if records := w.hosts[1].known(w.now, wire.NameID("kv")); len(records) > 0 {
		t.Errorf("known: %v", records)
	}
	if told := w.hosts[1].told; len(told) != 2 || told[1].What != find.Gone {
		t.Errorf("told %v", told)
	}
}

func TestWhatWasNotHeardOfForALeaseIsGone(t *testing.T) {
	w := newWorld(t, 2, 1)
	w.claim(0, "kv")
	w.run(2 * lease)
	w.hosts[0].stopped = true
	w.run(lease)
	if h := w.hosts[1]; len(h.known(w.now, wire.NameID("kv"))) > 0 || len(h.others) > 0 || h.told[len(h.told)-1].What != find.Gone {
		t.Errorf("told %v", h.told)
	}
}

func TestALowerRecordDoesNotReplaceAHigher(t *testing.T) {
	m := newMachine(lease)
	high, low := named("kv", 1), named("kv", 2)
	high.Epoch, low.Epoch = 5, 4
	m.take(0, everybody, &packet{kind: tell, lease: lease, records: []find.Record{high}})
	m.take(0, everybody, &packet{kind: tell, lease: lease, records: []find.Record{low}})
	m.take(0, everybody, &packet{kind: gone, lease: lease, records: []find.Record{low}})
	if records := m.known(1, high.Service); len(records) != 1 || records[0].Node != node(1) {
		t.Errorf("known: %v", records)
	}
}

func TestManyRecordsGoInAsFewDatagramsAsTheyFit(t *testing.T) {
	m := newMachine(lease)
	var all []find.Record
	for i := range 300 {
		r := named(fmt.Sprint("service", i), 1)
		for range i % 5 {
			r.At = append(r.At, "a-rather-long-name-of-a-host.example.net:7471")
		}
		all = append(all, r)
	}
	m.send(everybody, tell, all...)
	n := 0
	for _, o := range m.out {
		o.lease = lease
		b := o.seal(key)
		if _, err := unseal(key, b); err != nil {
			t.Errorf("%d records in %d bytes: %v", len(o.records), len(b), err)
		}
		n += len(o.records)
	}
	if n != len(all) || len(m.out) > 60 {
		t.Errorf("%d of %d records in %d datagrams", n, len(all), len(m.out))
	}
}

func TestAnswersAreLimited(t *testing.T) {
	m := newMachine(lease)
	s := m.claim(0, 1, named("kv", 1))
	m.becomeHeld(0, s)
	m.out = nil
	for range 10 * bucketSize {
		m.take(1e9, netip.AddrPort{}, &packet{kind: ask, lease: lease, id: s.record.Service})
	}
	if len(m.out) != bucketSize {
		t.Errorf("%d answers at once", len(m.out))
	}
	m.take(1e9+1e6, netip.AddrPort{}, &packet{kind: ask, lease: lease, id: s.record.Service})
	if len(m.out) != bucketSize+1 {
		t.Errorf("%d answers a millisecond later", len(m.out))
	}
}

func TestWhatIsNobodyElsesIsHeldAtOnce(t *testing.T) {
	m := newMachine(lease)
	drawn := find.Record{Service: node(9), Node: node(1), At: []string{"h:1"}}
	for _, r := range []find.Record{member("g", 1), drawn} {
		s := m.claim(0, 1, r)
		if m.tick(0); s.state != held || s.hold.ValidUntil() <= 0 {
			t.Errorf("%v is not held", &r)
		}
		m.withdraw(s, find.ErrWithdrawn)
	}
	drawn.Node = node(2)
	m.take(0, everybody, &packet{kind: tell, lease: lease, records: []find.Record{drawn}})
	drawn.Node = node(1)
	if s := m.claim(0, 1, drawn); s.until != clock.Time(lease) {
		t.Errorf("it waits until %v", s.until)
	}
}

// said takes what a machine wants to send.
func said(m *machine) []outgoing {
	out := m.out
	m.out = nil
	return out
}

func TestQuestionsComeAtGrowingPausesAndThenTheAnnouncement(t *testing.T) {
	m := newMachine(lease)
	s := m.claim(0, 1, named("kv", 1))
	var at []clock.Time
	for now := clock.Time(0); s.state == probing; now += 10e6 {
		m.tick(now)
		for _, o := range said(m) {
			if o.to != everybody || o.kind != probe && now != clock.Time(lease) {
				t.Errorf("at %v: %+v", now, o)
			}
			at = append(at, now)
		}
	}
	want := "[0s 20ms 60ms 140ms 300ms 460ms 620ms 780ms 940ms 1s]"
	if got := fmt.Sprint(at); got != want {
		t.Errorf("said something at %v, want %v", got, want)
	}
}

func TestWhoIsAskedAnswersTheOneWhoAsked(t *testing.T) {
	m, from := newMachine(lease), netip.MustParseAddrPort("10.0.0.1:1")
	s := m.claim(5, 5, named("kv", 1))
	later, earlier := named("kv", 2), named("kv", 2)
	later.Epoch, earlier.Epoch = 6, 4
	expect := func(what string, to netip.AddrPort, k kind) {
		t.Helper()
		out := said(m)
		if len(out) != 1 || out[0].to != to || out[0].kind != k || out[0].records[0].Node != node(1) {
			t.Errorf("%s: said %+v", what, out)
		}
	}
	m.take(5, from, &packet{kind: probe, lease: lease, records: []find.Record{later}})
	expect("two are probing", from, probe)
	m.becomeHeld(5, s)
	expect("held now", everybody, tell)
	m.take(5, from, &packet{kind: probe, lease: lease, records: []find.Record{later}})
	expect("a probe", from, tell)
	m.take(5, from, &packet{kind: ask, lease: lease, id: s.record.Service})
	expect("asked", from, tell)
	m.take(5, from, &packet{kind: ask, lease: lease})
	expect("asked for all", from, tell)
	m.take(5, from, &packet{kind: tell, lease: lease, records: []find.Record{earlier}})
	expect("another holder, of a lower epoch", everybody, tell)
	m.take(5, from, &packet{kind: ask, lease: lease, id: wire.NameID("other")})
	if out := said(m); len(out) > 0 || s.hold.Err() != nil {
		t.Errorf("asked for another: said %+v, %v", out, s.hold.Err())
	}
}

func TestWhoClaimsWaitsForTheLeaseThatWasHeard(t *testing.T) {
	m := newMachine(lease)
	before := named("kv", 2)
	before.Epoch = 1e18
	m.take(0, everybody, &packet{kind: tell, lease: 5 * lease, records: []find.Record{before}})
	s := m.claim(1, 1, named("kv", 1))
	if s.until != clock.Time(5*lease) || s.record.Epoch != 1e18+1 {
		t.Errorf("it waits until %v, for epoch %d", s.until, s.record.Epoch)
	}
}

// TestNoTwoAreValid: hosts claim, are stopped, go on, and withdraw, at any time, on a network that loses packets now and then. No
// two may be valid at one time.
func TestNoTwoAreValid(t *testing.T) {
	seeds := int64(12)
	if os.Getenv("WEFT_LONG") != "" {
		seeds = 1000
	}
	for seed := range seeds {
		w := newWorld(t, 4, seed)
		w.loss = []float64{0, 0.05, 0.2}[seed%3]
		claims := make([]*service, len(w.hosts))
		served := 0
		for range 6000 {
			n := w.rand.Intn(len(w.hosts))
			h := w.hosts[n]
			switch w.rand.Intn(300) {
			case 0:
				h.stopped = true
			case 1, 2:
				h.stopped = false
			case 3, 4, 5:
				if !h.stopped && (claims[n] == nil || claims[n].hold.Err() != nil) {
					claims[n] = w.claim(n, "kv")
				}
			case 6:
				if !h.stopped && claims[n] != nil && w.rand.Intn(5) == 0 {
					h.withdraw(claims[n], find.ErrWithdrawn)
				}
			}
			w.run(3e6)
			valid := 0
			for _, s := range claims {
				if s != nil && w.valid(s) {
					valid++
				}
			}
			served += valid
			if valid > 1 {
				t.Fatalf("seed %d: at %v %d are valid", seed, w.now, valid)
			}
		}
		if served == 0 {
			t.Errorf("seed %d: nobody was ever valid", seed)
		}
	}
}
