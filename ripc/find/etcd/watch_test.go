package etcd

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestThoseWhoWatchHearWhatHappens(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	a := open(t, s.Endpoint())
	must(t, a, named("before", 1))
	b := open(t, s.Endpoint())
	seen := watch(b) // of what was there before, nothing
	c := must(t, a, named("kv/3", 1))
	if r := seen.next(t, find.Came, "kv/3"); r.Epoch != c.Record().Epoch {
		t.Errorf("epoch %d, claimed was %d", r.Epoch, c.Record().Epoch)
	}
	r := named("kv/3", 1)
	r.At = []string{"elsewhere:1"}
	must(t, a, r)
	if r := seen.next(t, find.Moved, "kv/3"); r.At[0] != "elsewhere:1" {
		t.Errorf("moved to %v", r.At)
	}
	c.Withdraw(t.Context())
	seen.next(t, find.Gone, "kv/3")
	a.Close()
	seen.next(t, find.Gone, "before")
}

func TestNothingIsMissedThroughACompaction(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	line := newCable(t, s.Endpoint())
	near, far := open(t, s.Endpoint()), open(t, line.endpoint())
	stays, goes, moves := must(t, near, named("stays", 1)), must(t, near, named("goes", 1)), must(t, near, named("moves", 1))
	have(t, far)
	seen := watch(far)
	line.set(true)

	goes.Withdraw(t.Context())
	moves.Withdraw(t.Context())
	must(t, near, named("moves", 2))
	last := must(t, near, named("comes", 1))
	raw := client(t, s.Endpoint())
	if _, err := raw.Compact(t.Context(), int64(last.Record().Epoch)); err != nil {
		t.Fatal(err)
	}
	line.set(false)

	heard := map[string]bool{}
	eventually(t, "everything was heard", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		for _, c := range seen.changes {
			heard[fmt.Sprint(c.What, " ", c.Record.Name)] = true
		}
		return heard["gone goes"] && heard["moved moves"] && heard["came comes"]
	})
	if len(heard) != 3 {
		t.Errorf("heard %v", heard)
	}
	// From here on the watch goes on as before.
	stays.Withdraw(t.Context())
	eventually(t, "the next is heard", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		change := seen.changes[len(seen.changes)-1]
		return change.What == find.Gone && change.Record.Name == "stays"
	})
}

func TestAClaimThatWasLostDuringACompactionEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	s := serve(t, embedded.Config{})
	line := newCable(t, s.Endpoint())
	near, far := open(t, s.Endpoint()), openFor(t, line.endpoint(), time.Second)
	c := must(t, far, named("kv/3", 1))
	have(t, far)
	line.set(true)
	eventually(t, "its lease has run out", func() bool { return absent(t, near, wire.NameID("kv/3")) })
	now := must(t, near, named("kv/3", 2))
	if c.Err() != nil {
		t.Errorf("it cannot know yet, but says %v", c.Err())
	}
	if _, err := client(t, s.Endpoint()).Compact(t.Context(), int64(now.Record().Epoch)); err != nil {
		t.Fatal(err)
	}
	line.set(false)
	<-c.Done()
	if found, err := far.Find(t.Context(), wire.NameID("kv/3")); err != nil || found[0].Node != node(2) {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestAViewTellsWhatHasChanged(t *testing.T) {
	at := func(r find.Record, revision int64) entry { return entry{record: r, revision: revision} }
	k := newKeys("/weft/")
	key := func(name string) string { return k.holder(wire.NameID(name)) }
	v := view{entries: map[string]entry{
		key("a"): at(named("a", 1), 1), key("b"): at(named("b", 1), 2), key("c"): at(named("c", 1), 3),
		k.wanted(wire.NameID("a")): at(named("a", 2), 4),
	}}
	now := view{revision: 9, entries: map[string]entry{
		key("a"): at(named("a", 1), 1), key("b"): at(named("b", 2), 8), key("d"): at(named("d", 1), 9),
		k.wanted(wire.NameID("b")): at(named("b", 2), 7),
	}}
	heard := map[string]bool{}
	for _, c := range v.replace(now) {
		heard[fmt.Sprint(c.What, " ", c.Record.Name)] = true
	}
	if len(heard) != 3 || !heard["moved b"] || !heard["gone c"] || !heard["came d"] {
		t.Errorf("heard %v", heard)
	}
	if len(v.entries) != 4 || v.revision != 9 || len(v.records()) != 3 {
		t.Errorf("became %v", v)
	}
}
