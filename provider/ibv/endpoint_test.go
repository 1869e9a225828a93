package ibv

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

func someEndpoint() Endpoint {
	return Endpoint{Ethernet: true, MTU: 3, Reads: 16, LID: 7, Pair: 17, PSN: 0xabcdef, Name: 1 << 63, Watch: 4791, GIDs: []GID{
		{netip.MustParseAddr("10.9.0.1"), 24}, {netip.MustParseAddr("fe80::1"), 64}}}
}

func TestEndpointSurvivesItsAddress(t *testing.T) {
	want := someEndpoint()
	got, err := ParseAddress(want.Address())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestBadAddresses(t *testing.T) {
	good := string(someEndpoint().Address())
	for name, bad := range map[string]string{
		"empty": "", "short": good[:endpointSize-1], "cut": good[:len(good)-1], "long": good + "x", "no GIDs": good[:7] + "\x00" + good[8:endpointSize],
		"another kind": "soft" + good[4:], "MTU": good[:5] + "\x06" + good[6:], "pair": good[:12] + "\x01" + good[13:],
	} {
		if e, err := ParseAddress(driver.Address(bad)); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add(string(someEndpoint().Address()))
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseAddress(driver.Address(text))
		if err == nil && string(e.Address()) != text {
			again, err := ParseAddress(e.Address())
			if err != nil || !reflect.DeepEqual(again, e) {
				t.Errorf("%+v becomes %+v, %v", e, again, err)
			}
		}
	})
}
