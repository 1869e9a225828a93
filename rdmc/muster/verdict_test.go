package muster

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
)

// All go on with the least that one of them wants, or hear who does not want to, in a line of printable text.
func TestAgree(t *testing.T) {
	members, ctx := newMembers(t, 5, room, soft.InProcess), testContext(t)
	mustAll(t, concurrently(members, func(i int, m *member) error {
		next, err := agree(ctx, m.mesh, "next", 7-i%2, 7, nil)
		if next != 6 {
			t.Errorf("member %d goes on with %d", i, next)
		}
		return err
	}))
	why := errors.New("no \x1b[31m memory\n" + strings.Repeat("!", 2*maxReason))
	for i, err := range concurrently(members, func(i int, m *member) error {
		if i == 0 {
			return verdict(ctx, m.mesh, "words", nil)
		}
		return verdict(ctx, m.mesh, "words", why)
	}) {
		if i == 0 {
			mustContain(t, err, "member 1 (m1): failed there: no  [31m memory !", "member 3 (m3)", "and failed there at 1 more")
		}
		if !errors.Is(err, ErrElsewhere) || len(err.Error()) > 7*maxReason {
			t.Errorf("member %d: %d bytes of %v", i, len(err.Error()), err)
		}
	}
}

// A verdict that is none is named too.
func TestVerdictsThatAreNone(t *testing.T) {
	members, ctx := newMembers(t, 2, room, soft.InProcess), testContext(t)
	for want, note := range map[string][]byte{"needs 4 bytes": nil, "it wants to go on with 1": {0, 0, 0, 1}} {
		errs := concurrently(members, func(i int, m *member) error {
			if i == 0 {
				return verdict(ctx, m.mesh, "words", nil)
			}
			_, err := m.mesh.Exchange(ctx, "words", [][]byte{note, note})
			return err
		})
		mustContain(t, errs[0], "member 1 (m1)", want)
		if !errors.Is(errs[0], ErrMalformed) {
			t.Errorf("%v is not ErrMalformed", errs[0])
		}
	}
}
