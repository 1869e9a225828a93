package lan

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

func packets() []*packet {
	sender := [16]byte{1, 2, 3}
	a, b := named("kv", 1), member("g", 2)
	return []*packet{
		{kind: ask, sender: sender, number: 1, sent: 2, lease: time.Second, id: wire.NameID("kv")},
		{kind: ask, sender: sender, number: 1 << 63, sent: -2, lease: time.Second},
		{kind: probe, sender: sender, lease: maxLease, records: []find.Record{a}},
		{kind: tell, sender: sender, lease: minLease, records: []find.Record{a, b, a}},
		{kind: gone, sender: sender, lease: time.Second, records: []find.Record{b}},
	}
}

func TestPacketsComeBackAsTheyWere(t *testing.T) {
	for _, p := range packets() {
		if got, err := unseal(key, p.seal(key)); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v came back as %+v, %v", p, got, err)
		}
	}
}

func TestWhatSomebodyElseMadeIsRefused(t *testing.T) {
	b := packets()[3].seal(key)
	if _, err := unseal([]byte("another key of 16"), b); !errors.Is(err, errKey) {
		t.Error(err)
	}
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 1
		if _, err := unseal(key, changed); err == nil {
			t.Errorf("byte %d does not matter", i)
		}
	}
	for n := range b {
		if _, err := unseal(key, b[:n]); err == nil {
			t.Errorf("%d bytes of %d are enough", n, len(b))
		}
	}
}

func TestMalformedPacketsAreRefusedWithAReason(t *testing.T) {
	for want, change := range map[string]func(*packet){
		"kind 0":                func(p *packet) { p.kind = 0 },
		"kind 5":                func(p *packet) { p.kind = lastKind },
		"a probe with 0":        func(p *packet) { p.kind, p.records = probe, nil },
		"a probe with 3":        func(p *packet) { p.kind = probe },
		"asked for Kind(9)":     func(p *packet) { p.kind, p.id, p.records = ask, wire.ID{9}, nil },
		"a lease of 0s":         func(p *packet) { p.lease = 0 },
		"a lease of 1h0m0.001s": func(p *packet) { p.lease = maxLease + time.Millisecond },
		"for which process":     func(p *packet) { p.records[1].Node = wire.ID{} },
		"0 addresses":           func(p *packet) { p.records[1].At = nil },
		"that can be claimed":   func(p *packet) { p.records[1].Epoch = 1 << 63 },
		"bytes too many":        func(p *packet) { p.kind, p.id = ask, wire.ID{} },
	} {
		p := packets()[3]
		change(p)
		if _, err := unseal(key, p.seal(key)); !errors.Is(err, errMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzUnseal: what has the right hash is decoded without harm, and what is accepted encodes to the same bytes again.
func FuzzUnseal(f *testing.F) {
	for _, p := range packets() {
		b := p.seal(key)
		f.Add(b[:len(b)-32])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = unseal(key, body)
		b := append(body, hash(key, body)...)
		if p, err := unseal(key, b); err == nil && !bytes.Equal(p.seal(key), b) {
			t.Errorf("%x decodes to %+v", b, p)
		}
	})
}

func TestAPacketPassesOnce(t *testing.T) {
	g := newGuard(30 * time.Second)
	const wall = int64(1e18)
	pass := func(sender byte, number uint64, sent int64) error {
		return g.pass(&packet{sender: [16]byte{sender}, number: number, sent: sent}, wall)
	}
	for _, c := range []struct {
		number uint64
		sent   int64
		want   error
	}{
		{5, wall, nil}, {5, wall, errRepeated}, {4, wall, nil}, {4, wall, errRepeated},
		{100, wall, nil}, {37, wall, nil}, {36, wall, errRepeated}, {37, wall, errRepeated}, {99, wall, nil}, {100, wall, errRepeated},
		{101, wall - 30e9, nil}, {102, wall - 30e9 - 1, errTime}, {102, wall + 30e9, nil}, {103, wall + 30e9 + 1, errTime},
		{103, -1 << 63, errTime}, {103, 1<<63 - 1, errTime}, {1<<64 - 1, wall, nil}, {1<<64 - 1, wall, errRepeated},
	} {
		if err := pass(1, c.number, c.sent); !errors.Is(err, c.want) {
			t.Errorf("%d sent at %d: %v, want %v", c.number, c.sent, err, c.want)
		}
	}
	if err := pass(2, 5, wall); err != nil {
		t.Errorf("another sender: %v", err)
	}
}

func TestSendersAreForgottenOnlyWhenTheirPacketsAreTooOld(t *testing.T) {
	g := newGuard(time.Second)
	wall := int64(1e18)
	first := &packet{number: 1, sent: wall}
	sender := func(n int, now int64) error {
		return g.pass(&packet{sender: [16]byte{1, byte(n), byte(n >> 8), byte(n >> 16)}, number: 1, sent: now}, now)
	}
	if err := g.pass(first, wall); err != nil {
		t.Fatal(err)
	}
	for n := range maxSenders - 1 {
		if err := sender(n, wall); err != nil {
			t.Fatal(err)
		}
	}
	if err := sender(maxSenders, wall); !errors.Is(err, errSenders) {
		t.Errorf("one too many: %v", err)
	}
	if err := g.pass(first, wall); !errors.Is(err, errRepeated) {
		t.Error(err)
	}
	if err := sender(0, wall+1e9); !errors.Is(err, errRepeated) { // that was heard of again
		t.Error(err)
	}
	if err := sender(maxSenders, wall+2e9+1); err != nil || len(g.senders) != 2 {
		t.Errorf("later: %v, %d senders", err, len(g.senders))
	}
}
