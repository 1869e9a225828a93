package stream

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
)

// Package net's own judge of connections, on every lane, between two nodes and within one.
func TestConnectionsAreWhatPackageNetExpects(t *testing.T) {
	for _, lane := range []soft.Lanes{soft.InProcess, soft.SharedMemory, soft.TCP} {
		dir := t.TempDir()
		a, b := newNodeOn(t, dir, lane), newNodeOn(t, dir, lane)
		l := listen(t, a)
		t.Run(lane.String(), func(t *testing.T) { judge(t, l, b) })
		if lane == soft.InProcess {
			t.Run("one node", func(t *testing.T) { judge(t, l, a) })
		}
	}
}

func judge(t *testing.T, l *Listener, from *ripc.Node) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		there, here := connect(t, l, from)
		return there, here, func() { closeBoth(t, there, here) }, nil
	})
}
