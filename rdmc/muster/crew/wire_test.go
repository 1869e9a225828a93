package crew

import (
	"fmt"
	"os"
	"testing"
)

// Two machines run this test, each with every other member: what they tell each other goes over the wire. One member, on the
// second machine, is killed in the middle of a transfer, and the others finish it.
func TestWire(t *testing.T) {
	if os.Getenv("WEFT_MACHINES") != "2" {
		t.Skip("it needs two machines with RDMA devices: make test-roce runs this there")
	}
	const victim = 1
	c := crewOnTheWire(t, 4)
	var groups []groupOrder
	for number := range 3 {
		g := killable(fmt.Sprint("wire ", number), number)
		g.Ranks = []int{0, 1, 2, 3}
		groups = append(groups, g)
	}
	c.must(c.all(), func(i int) order {
		mine := append([]groupOrder(nil), groups...)
		for at := range mine {
			if i == victim {
				mine[at].Hold = 20 + 10*at
			}
		}
		return order{Do: "create", Groups: mine}
	})
	for _, g := range groups {
		c.send(g, sizes...)
		c.send(g, 50*blockSize)
		c.hold(g, victim)
	}
	c.kill(victim)
	c.recover(groups, victim)
	c.same(c.all(), order{Do: "barrier"}) // who leaves may still be needed
}

// crewOnTheWire starts every other member here; the others are the other machine's.
func crewOnTheWire(t *testing.T, n int) *crew {
	t.Helper()
	homes := map[string][]string{"1": {os.Getenv("WEFT_ADDRESS"), os.Getenv("WEFT_PEER")}, "2": {os.Getenv("WEFT_PEER"), os.Getenv("WEFT_ADDRESS")}}
	addresses := make([]string, n)
	c := &crew{t: t, lane: "ibv"}
	for i := range addresses {
		addresses[i] = fmt.Sprintf("%s:%d", homes[os.Getenv("WEFT_MACHINE")][i%2], 7600+i)
		if fmt.Sprint(i%2+1) == os.Getenv("WEFT_MACHINE") {
			c.members = append(c.members, startProcess(t, memberName(i)))
		} else {
			c.members = append(c.members, &process{name: memberName(i), away: true})
		}
	}
	t.Cleanup(c.end)
	c.meet(addresses, nil)
	return c
}
