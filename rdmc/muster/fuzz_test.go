package muster

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
)

func FuzzOffers(f *testing.F) {
	f.Add(encodeOffers(0, nil))
	f.Add(encodeOffers(2, []offer{{description: []byte("d"), addresses: []verbs.Address{"a", "bc"}, turn: 1}, {}}))
	f.Fuzz(func(t *testing.T, note []byte) {
		turns, offers, err := decodeOffers(note)
		if err == nil && !bytes.Equal(encodeOffers(turns, offers), note) {
			t.Errorf("%x became %v", note, offers)
		}
	})
}

func FuzzVerdict(f *testing.F) {
	f.Add(encodeVerdict(3, nil), 3)
	f.Add(encodeVerdict(0, errors.New("no \x1b[31mmemory")), 0)
	f.Fuzz(func(t *testing.T, note []byte, most int) {
		next, err := decodeVerdict(note, most)
		if err == nil && (next > most || !bytes.Equal(encodeVerdict(next, nil), note)) {
			t.Errorf("%x became %d", note, next)
		}
		if err != nil && printable.Check("it", err.Error(), 2*maxReason) != nil {
			t.Errorf("%x: %q", note, err)
		}
	})
}

func FuzzHoldings(f *testing.F) {
	f.Add(encodeHoldings(nil))
	f.Add(encodeHoldings([]rdmc.Holding{holding(1, 3, 0, 2), holding(2, 900, 7)}))
	f.Fuzz(func(t *testing.T, note []byte) {
		holdings, err := decodeHoldings(note)
		if err != nil {
			return
		}
		if !bytes.Equal(encodeHoldings(holdings), note) {
			t.Errorf("%x became %v", note, holdings)
		}
		if _, err := sorted(holdings); err != nil {
			t.Errorf("%x: %v", note, err)
		}
	})
}
