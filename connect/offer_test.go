package connect

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCommon(t *testing.T) {
	const inproc, shm, tcp, ibv = "inproc", "shm", "tcp", "ibv"
	offers := func(names ...string) (list []Offer) {
		for _, name := range names {
			reach := map[string]Reach{inproc: SameProcess, shm: SameHost}[name]
			list = append(list, Offer{Provider: name, Reach: reach})
		}
		return list
	}
	here, there := place{"m", 1}, place{"m", 2}
	far, nowhere := place{"other", 2}, place{"", 2}
	for _, c := range []struct {
		listener, dialler []Offer
		dialler2          place
		user              uint32
		want              string // what both have, the best first
	}{
		{offers(inproc, shm, tcp), offers(tcp, shm, inproc), here, 0, "inproc shm tcp"},
		{offers(inproc, shm, tcp), offers(tcp, shm, inproc), there, 0, "shm tcp"},
		{offers(inproc, shm, tcp), offers(tcp, shm, inproc), there, 7, tcp}, // another user
		{offers(inproc, shm, tcp), offers(tcp, shm, inproc), far, 0, tcp},
		{offers(inproc, shm, tcp), offers(tcp, shm, inproc), nowhere, 0, tcp},
		{offers(tcp, shm), offers(shm, tcp), there, 0, "tcp shm"}, // the listener's order counts
		{offers(shm), offers(shm), far, 0, ""},
		{[]Offer{{Provider: shm}}, offers(shm), far, 0, ""}, // the narrower reach counts
		{offers(tcp), offers(ibv), here, 0, ""},
		{offers(tcp), nil, here, 0, ""},
		{nil, nil, here, 0, ""},
	} {
		listener := &greeting{place: here, offers: c.listener}
		dialler := &greeting{identity: Identity{User: c.user}, place: c.dialler2, offers: c.dialler}
		var names []string
		for _, offer := range common(listener, dialler) {
			names = append(names, offer.Provider)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v and %v from %+v have %q in common; want %q", c.listener, c.dialler, c.dialler2, got, c.want)
		}
	}
}

func TestBothEndsAgree(t *testing.T) {
	listener := []Offer{{Provider: "tcp", MaxMessage: 100, MaxQueuePairs: 7, PeerTimeout: time.Second}, {Provider: "ibv"}}
	dialler := []Offer{{Provider: "ibv"}, {Provider: "tcp", MaxMessage: 50, PeerTimeout: time.Minute}}
	a, b := meet(t, "127.0.0.1:0", Options{Offers: listener}, Options{Offers: dialler})
	want := Offer{Provider: "tcp", MaxMessage: 50, MaxQueuePairs: 7, PeerTimeout: time.Minute}
	if a.Agreed() != want || b.Agreed() != want {
		t.Errorf("agreed on %+v and %+v, want %+v", a.Agreed(), b.Agreed(), want)
	}
	others := []Offer{{Provider: "ibv"}}
	if !slices.Equal(a.Others(), others) || !slices.Equal(b.Others(), others) {
		t.Errorf("instead of that %+v and %+v, want %+v", a.Others(), b.Others(), others)
	}
}

// TestPlace: two ends of this process are on one machine, by what the kernel says.
func TestPlace(t *testing.T) {
	a, _ := meet(t, "127.0.0.1:0", Options{Offers: []Offer{{Provider: "shm", Reach: SameHost}}},
		Options{Offers: []Offer{{Provider: "shm", Reach: SameHost}}})
	if a.Agreed().Provider != "shm" || here().machine == "" {
		t.Errorf("agreed on %+v, the machine is %q", a.Agreed(), here().machine)
	}
}
