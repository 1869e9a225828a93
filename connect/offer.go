package connect

import (
	"fmt"
	"strings"
	"time"
)

// Offer is one provider, or one lane of one, that an end can use. Limits that are zero are not stated.
type Offer struct {
	Provider      string // "shm", "tcp", …: both ends must use the same words
	Reach         Reach
	MaxMessage    uint32        // bytes
	MaxQueuePairs uint32        // that the end is ready to open
	PeerTimeout   time.Duration // the end notices a dead peer within this
}

// Reach is how far a provider reaches.
type Reach uint8

// How far a provider reaches.
const (
	Anywhere    Reach = iota // to any host
	SameHost                 // to processes of the same user on the same host
	SameProcess              // to devices of the same process
)

var reachNames = [...]string{"anywhere", "same host and user", "same process"}

func (r Reach) String() string {
	if int(r) < len(reachNames) {
		return reachNames[r]
	}
	return fmt.Sprintf("Reach(%d)", r)
}

// between reports whether something of this reach leads from one end to the other.
func (r Reach) between(a, b *greeting) bool {
	sameProcess := a.place.instance == b.place.instance
	switch r {
	case Anywhere:
		return true
	case SameHost:
		return sameProcess || a.place.machine != "" && a.place.machine == b.place.machine && a.identity.User == b.identity.User
	}
	return sameProcess
}

// common lists the listener's offers that the dialler makes too and that reach, in the listener's order. Both ends compute it.
func common(listener, dialler *greeting) []Offer {
	var both []Offer
	for _, offer := range listener.offers {
		for _, other := range dialler.offers {
			if other.Provider == offer.Provider && max(offer.Reach, other.Reach).between(listener, dialler) {
				both = append(both, offer.with(other))
				break
			}
		}
	}
	return both
}

// with is what holds for both of two offers.
func (o Offer) with(other Offer) Offer {
	return Offer{
		Provider:      o.Provider,
		Reach:         max(o.Reach, other.Reach),
		MaxMessage:    stricter(o.MaxMessage, other.MaxMessage),
		MaxQueuePairs: stricter(o.MaxQueuePairs, other.MaxQueuePairs),
		PeerTimeout:   max(o.PeerTimeout, other.PeerTimeout),
	}
}

// stricter is the smaller of two limits, of which zero is none.
func stricter(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// describe lists offers for people.
func describe(offers []Offer) string {
	if len(offers) == 0 {
		return "nothing"
	}
	var words []string
	for _, offer := range offers {
		word := offer.Provider
		if offer.Reach != Anywhere {
			word += fmt.Sprintf(" (%v only)", offer.Reach)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
