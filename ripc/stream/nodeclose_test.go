package stream

import (
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
)

// A node may be closed under its connections: whoever reads or writes hears so, and touches no memory that is gone.
func TestANodeIsClosedUnderItsConnections(t *testing.T) {
	dir := t.TempDir()
	l := listen(t, newNode(t, dir))
	node, closeNode, err := openNode(dir, soft.InProcess)
	check(t, err)
	there, here := connect(t, l, node)
	carry(t, there, here, random(bulkMost)) // the way is known
	_, err = here.Write(random(bulkMost))
	check(t, err)
	_, err = io.ReadFull(there, make([]byte, 1)) // it has the rest of the piece
	check(t, err)
	var all sync.WaitGroup
	begun := make(chan struct{})
	all.Go(func() {
		b := random(bulkMost)
		for first := true; err == nil; first = false {
			_, err = there.Write(b)
			if first {
				close(begun)
			}
		}
		if !errors.Is(err, ripc.ErrClosed) {
			t.Errorf("write: %v", err)
		}
	})
	all.Go(func() { _, _ = io.Copy(io.Discard, here) })
	<-begun
	check(t, closeNode())
	all.Wait()
	if _, err := there.Read(make([]byte, bulkMost)); !errors.Is(err, ripc.ErrClosed) {
		t.Errorf("read: %v", err)
	}
}

// What had come to a node, and was not read when it was closed, is given back by its connection's Close: leaktest sees if not.
func TestCloseOfANodeLeavesNothingUnread(t *testing.T) {
	for name, end := range map[string]func(server, client *ripc.Node){
		"at once":                  func(server, _ *ripc.Node) { check(t, server.Close()) },
		"after the link had ended": func(server, client *ripc.Node) { check(t, client.Close()); check(t, server.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			server, client := newNode(t, dir), newNode(t, dir)
			there, here := connect(t, listen(t, server), client)
			_, err := there.Write(random(window))
			check(t, err)
			has := 0
			for has < window {
				check(t, here.line.Do(func() { has = int(here.in.arrived) }))
			}
			end(server, client)
			check(t, here.Close())
		})
	}
}
