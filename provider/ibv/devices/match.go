package devices

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxGIDs is how many GIDs an end offers its peer at most.
const MaxGIDs = 16

// ErrNoMatch is what Match fails with.
var ErrNoMatch = errors.New("the two ends have no kind of address in common")

// pair is a local and a remote GID that could be used together.
type pair struct{ local, remote GID }

// Match chooses the GIDs of a connection's two ends out of what both offer. It is symmetric: with the lists exchanged it
// returns the same two, exchanged, so both ends can compute it without a further message.
//
// Only GIDs of one kind and family fit together. Of those, pairs in one subnet come first, then IPv4 before IPv6.
// Link-local addresses are the last resort, because nobody can tell whether two of them are on the same link. What is
// then still equal is decided by the bytes. Two GIDs that are not in one subnet need a router: see [Reach].
func Match(local, remote []GID) (l, r GID, err error) {
	if err := checkLists(local, remote); err != nil {
		return GID{}, GID{}, err
	}
	var best pair
	for _, l := range local {
		for _, r := range remote {
			p := pair{l, r}
			if p.fits() && (best.local.Kind == 0 || p.compare(best) < 0) {
				best = p
			}
		}
	}
	if best.local.Kind == 0 {
		return GID{}, GID{}, fmt.Errorf("%w: this end has %s, its peer has %s: give both an address of one family",
			ErrNoMatch, summary(local), summary(remote))
	}
	return best.local, best.remote, nil
}

func checkLists(local, remote []GID) error {
	switch {
	case len(local) > MaxGIDs || len(remote) > MaxGIDs:
		return fmt.Errorf("%d and %d GIDs are offered: at most %d can be compared", len(local), len(remote), MaxGIDs)
	case len(local) == 0:
		return fmt.Errorf("%w: this end has no GID", ErrNoMatch)
	case len(remote) == 0:
		return fmt.Errorf("%w: the peer has no GID", ErrNoMatch)
	}
	return nil
}

func (p pair) fits() bool {
	return p.local.Kind == p.remote.Kind && p.local.family() == p.remote.family() && p.local.reachable() && p.remote.reachable()
}

// sameSubnet reports whether each end reaches the other without a router.
func (p pair) sameSubnet() bool {
	return p.local.subnet().Contains(p.remote.address()) && p.remote.subnet().Contains(p.local.address())
}

// compare is negative if p is better than q. It does not depend on which end is the local one. That two pairs are equal
// is possible only if they hold the same bytes in the same places: of {A, B} and {B, A} neither is ever the best, as
// {A, A}, which exists too then, is better than both.
func (p pair) compare(q pair) int {
	return cmp.Or(
		cmp.Compare(p.rank(), q.rank()),
		cmp.Compare(p.local.family(), q.local.family()),
		cmp.Compare(p.local.Kind, q.local.Kind),
		bytes.Compare(p.lower(), q.lower()),
		bytes.Compare(p.upper(), q.upper()),
	)
}

// rank is the distance of the ends: one subnet, a router between them, unknown.
func (p pair) rank() int {
	switch {
	case p.local.family() == familyLinkLocal:
		return 2
	case p.sameSubnet():
		return 0
	}
	return 1
}

// lower and upper are the bytes of both ends, in an order on which they agree.
func (p pair) lower() []byte {
	return slices.MinFunc([][]byte{p.local.Raw[:], p.remote.Raw[:]}, bytes.Compare)
}

func (p pair) upper() []byte {
	return slices.MaxFunc([][]byte{p.local.Raw[:], p.remote.Raw[:]}, bytes.Compare)
}

// summary says what an end has, the kinds and families once each.
func summary(list []GID) string {
	var words []string
	for _, g := range list {
		word := g.Kind.String()
		switch {
		case g.Kind == KindRoCEv2 && !g.reachable():
			word += " over an address that no peer reaches"
		case g.Kind != KindInfiniBand:
			word += " over " + familyNames[g.family()]
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " and ")
}
