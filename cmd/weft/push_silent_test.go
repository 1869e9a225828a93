package main

import (
	"net"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
)

// silentAt takes connections at an address for an agent, and never says a word.
func silentAt(t *testing.T, a *fleetAgent) {
	t.Helper()
	l, err := net.Listen("tcp", a.address)
	if err != nil {
		t.Fatal(err)
	}
	a.address = l.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
}

// A host that takes the connection and says nothing is given up after --connect-timeout, long before a deadline that would end it otherwise.
func TestPushToAHostThatIsSilent(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 1, 1000)
	silentAt(t, f.agents[0])
	r := f.push("--connect-timeout", "300ms", "--deadline", "8s").end(push.ExitNoHost)
	failedAs(t, r, f.agents[0], control.Unreachable, "it does not answer in time")
	f.clean(r)
}
