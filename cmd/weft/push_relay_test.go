package main

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
)

// asLiar in the environment has an agent pass on other bytes than it got: of a block of the content ("content") or of the manifest, in the
// payload or in the page before it ("page").
const asLiar = "WEFT_TEST_LIAR"

// misbehave makes this process as a test wants it.
func misbehave() {
	if what := os.Getenv(asLiar); what != "" {
		blocksOfAgent = func(b member.Blocks) member.Blocks { return liar{b, what} }
	}
	if sign := os.Getenv(asSlowDisk); sign != "" {
		blocksOfAgent = func(b member.Blocks) member.Blocks { return &slowDisk{Blocks: b, sign: sign} }
	}
}

// liar changes a byte of what it passes on, once it has been checked.
type liar struct {
	member.Blocks
	what string
}

// firstLie is from which block on it lies.
const firstLie = 5

func (l liar) Check(layout manifest.Layout, block int, wire []byte) error {
	err := l.Blocks.Check(layout, block, wire)
	l.flip(layout, block, wire)
	return err
}

// Keep writes what had come: nobody finds it out by its own disk.
func (l liar) Keep(layout manifest.Layout, block int, wire []byte) error {
	own := slices.Clone(wire)
	l.flip(layout, block, own)
	return l.Blocks.Keep(layout, block, own)
}

func (l liar) flip(layout manifest.Layout, block int, wire []byte) {
	switch {
	case l.what == "manifest" && layout.Stream == manifest.ManifestStream, l.what == "content" && layout.Stream == manifest.ContentStream && block >= firstLie:
		wire[len(wire)-1] ^= 1
	case l.what == "page" && layout.Stream == manifest.ContentStream && block >= firstLie:
		wire[layout.Header()/2] ^= 1
	}
}

// A relay that passes on something else is named by those who got it; they go on without it, and have no wrong byte.
func TestPushThroughALiar(t *testing.T) {
	t.Parallel()
	for what, relays := range map[string]int{"content": 3, "page": 3, "manifest": 1} { // which is one block, that the first passes on
		for at := range min(relays, long(1, 3)) {
			t.Run(fmt.Sprint(what, at), func(t *testing.T) {
				t.Parallel()
				f := idleFleet(t, 3, 3<<20)
				lies := f.agents[at]
				lies.env = []string{asLiar + "=" + what}
				r := f.launch().push("--algorithm", "pipeline").end(push.ExitPartial)
				failedAs(t, r, lies, control.Integrity, "has rejected a block of it")
				for _, a := range f.agents {
					if h := outcomeOf(r, a); (h.Outcome == push.OutcomeVerified) == (a == lies) {
						t.Errorf("%+v", h)
					}
				}
				f.clean(r)
				f.stop(lies)
				lies.env = nil
				f.rerun(r)
			})
		}
	}
}
