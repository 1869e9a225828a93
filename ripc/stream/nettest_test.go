package stream

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/weft-fabric/weft/ripc"
)

// Package net's own judge of connections, between two nodes and within one.
func TestConnectionsAreWhatPackageNetExpects(t *testing.T) {
	dir := t.TempDir()
	a, b := newNode(t, dir), newNode(t, dir)
	l := listen(t, a)
	for name, from := range map[string]*ripc.Node{"between two": b, "within one": a} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				there, here := connect(t, l, from)
				return there, here, func() { closeBoth(t, there, here) }, nil
			})
		})
	}
}
