package connect

import (
	"bytes"
	"io"
	"reflect"
	"runtime"
	"testing"

	"github.com/weft-fabric/weft/verbs"
)

// FuzzGreeting: what is accepted encodes to the same bytes again, so nothing has two meanings.
func FuzzGreeting(f *testing.F) {
	f.Add([]byte(nil))
	f.Add((&greeting{}).appendBody(nil))
	f.Add((&greeting{identity: self("fuzz", "v1"), place: here(), offers: []Offer{{Provider: "shm", Reach: SameHost},
		{Provider: "tcp", MaxMessage: 1 << 20, MaxQueuePairs: 9, PeerTimeout: 1e9}}}).appendBody(nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := decodeGreeting(body)
		if err != nil {
			return
		}
		if again := g.appendBody(nil); !bytes.Equal(again, body) {
			t.Errorf("%x decodes to %+v, which encodes to %x", body, g, again)
		}
		read, err := readGreeting(bytes.NewReader(g.encode()))
		if len(body) <= maxGreeting && (err != nil || !reflect.DeepEqual(read, g)) {
			t.Errorf("%+v was read as %+v, %v", g, read, err)
		}
	})
}

// FuzzCard: the same for cards, and no more things come out than bytes went in.
func FuzzCard(f *testing.F) {
	f.Add([]byte(nil))
	f.Add((&Card{}).appendTo(nil))
	f.Add((&Card{Step: "ready", Addresses: []verbs.Address{"soft:1", "soft:2"}, Note: []byte{0, 1, 2},
		Spans: []verbs.RemoteSpan{{Address: 1, Length: 2, Key: 3}}}).appendTo(nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		card, err := decodeCard(body)
		if n := cap(card.Addresses)*2 + cap(card.Spans)*spanSize + cap(card.Note); n > len(body) {
			t.Errorf("%d bytes gave a card of at least %d", len(body), n)
		}
		if err != nil {
			return
		}
		if again := card.appendTo(nil); !bytes.Equal(again, body) {
			t.Errorf("%x decodes to %+v, which encodes to %x", body, card, again)
		}
	})
}

// FuzzStream feeds the readers of whole messages.
func FuzzStream(f *testing.F) {
	f.Add((&greeting{}).encode())
	f.Add(cardFrame(1, &Card{Step: "x"}))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x03bye"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		if g, err := readGreeting(bytes.NewReader(stream)); err == nil && !bytes.HasPrefix(stream, g.encode()) {
			t.Errorf("%x was read as %+v", stream, g)
		}
		if card, err := readCard(bytes.NewReader(stream), 1); err == nil && !bytes.HasPrefix(stream, cardFrame(1, &card)) {
			t.Errorf("%x was read as %+v", stream, card)
		}
	})
}

// TestAnnouncementsCostNothing: a peer that announces much and sends little gets little memory.
func TestAnnouncementsCostNothing(t *testing.T) {
	some := make([]byte, 100)
	bytesToCome := append(startFrame(kindCard, 1)[:5], 0, 0x90, 0, 0) // nine MiB
	spansToCome := append(make([]byte, 2+4), 0, 1, 0, 0)              // MaxSpans
	for name, read := range map[string]func() error{
		"bytes": func() error {
			_, err := readCard(io.MultiReader(bytes.NewReader(bytesToCome), bytes.NewReader(some)), 1)
			return err
		},
		"spans": func() error {
			_, err := decodeCard(append(spansToCome, some...))
			return err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const times = 100
		for range times {
			if read() == nil {
				t.Fatalf("%s were read that are not there", name)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 64<<10 {
			t.Errorf("%s that do not come take %d bytes of memory", name, each)
		}
	}
}
