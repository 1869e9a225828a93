package push

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

// hostsThatHave are hosts whose agents offer some ways each.
func hostsThatHave(offers ...string) (all []*host) {
	for i, ways := range offers {
		all = append(all, &host{name: fmt.Sprintf("node%d", i+1), greeting: control.Greeting{Ways: strings.Fields(ways)}})
	}
	return all
}

func TestTheBestWayThatAllHave(t *testing.T) {
	const every, soft = "ibv shm tcp", "shm tcp"
	for _, c := range []struct {
		own           string
		all           []*host
		slowed, local bool
		want, why     string
	}{
		{own: every, all: hostsThatHave(every, every), want: "ibv shm tcp"},
		{own: every, all: hostsThatHave(every, every), local: true, want: "shm ibv tcp"},
		{own: every, all: hostsThatHave(every, "ibv tcp"), want: "ibv tcp"},
		{own: every, all: hostsThatHave(every, every), slowed: true, want: "shm tcp", why: "slowed down"},
		{own: every, all: hostsThatHave(soft, every, soft), want: "shm tcp", why: "node[1,3]: no RDMA device that works"},
		{own: soft, all: hostsThatHave(every, every), want: "shm tcp", why: "this host"},
		{own: soft, all: hostsThatHave(soft, every), want: "shm tcp", why: "this host"},
		{own: soft, all: hostsThatHave(soft, "tcp"), want: "tcp"},
		{own: every, all: hostsThatHave(soft), local: true, want: "shm tcp"},
	} {
		ways, why := commonWays(strings.Fields(c.own), c.all, c.slowed, c.local)
		if strings.Join(ways, " ") != c.want || !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%+v: %v, %q", c, ways, why)
		}
	}
}

// Only RDMA that was chosen, and by which no group has begun yet, is given up for what hosts say of it.
func TestDoubtsAboutTheWay(t *testing.T) {
	broken := errors.New("no route to that device")
	for _, c := range []struct {
		what   string
		p      *pusher
		own    error
		errs   []error
		doubts bool
	}{
		{"a host", &pusher{way: wayIBV, otherWays: []string{wayTCP}}, nil, []error{nil, broken}, true},
		{"this end", &pusher{way: wayIBV, otherWays: []string{wayTCP}}, broken, nil, true},
		{"nobody", &pusher{way: wayIBV, otherWays: []string{wayTCP}}, nil, []error{nil, nil}, false},
		{"who does not answer", &pusher{way: wayIBV, otherWays: []string{wayTCP}}, nil, []error{broken, ripc.ErrLost}, false},
		{"it has worked", &pusher{way: wayIBV, otherWays: []string{wayTCP}, isProven: true}, broken, nil, false},
		{"it was asked for", &pusher{way: wayIBV}, broken, nil, false},
		{"TCP", &pusher{way: wayTCP}, broken, nil, false},
	} {
		if err := c.p.doubts(c.own, c.errs); errors.Is(err, errWay) != c.doubts || errors.Is(err, broken) != c.doubts {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
