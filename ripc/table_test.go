package ripc

import (
	"path/filepath"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/find/static"
	"github.com/weft-fabric/weft/verbs"
)

// tabled opens a node whose services are in a table.
func tabled(t *testing.T, table map[string][]string, at string) *Node {
	t.Helper()
	resolver, err := static.New(table)
	check(t, err)
	inner, err := soft.New(soft.Config{})
	check(t, err)
	device, err := verbs.Open(inner)
	check(t, err)
	n, err := Open(Config{Device: device, Resolver: resolver, Listen: []string{at}})
	check(t, err)
	t.Cleanup(func() {
		check(t, n.Close())
		check(t, resolver.Close())
		check(t, device.Close())
	})
	return n
}

// A table knows addresses, not processes. One that is linked already, because it has called or because another service of it was
// found, is recognised when it is dialled.
func TestAProcessThatIsFoundByItsAddressMayBeLinkedAlready(t *testing.T) {
	dir := t.TempDir()
	atA, atB, alias := "unix:"+filepath.Join(dir, "a"), "unix:"+filepath.Join(dir, "b"), "unix:"+dir+"/./b"
	table := map[string][]string{"a": {atA}, "b": {atB}, "other": {atB}, "third": {alias}, "self": {atA}}
	a, b := tabled(t, table, atA), tabled(t, table, atB)
	echo(t, a, "a")
	for _, name := range []string{"b", "other", "third"} {
		echo(t, b, name)
	}
	ask(t, b, "a", "b has called")
	for _, name := range []string{"b", "other", "third", "b"} {
		ask(t, a, name, "and is called")
	}
	check(t, a.on(func() {
		if len(a.office.peers) > 1 || len(a.office.places) > 0 {
			t.Errorf("one other process is there, %d and %d are known", len(a.office.peers), len(a.office.places))
		}
	}))
}
