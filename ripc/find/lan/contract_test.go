package lan

import (
	"hash/fnv"
	"net/netip"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/findtest"
)

func TestContract(t *testing.T) {
	findtest.Run(t, func(t *testing.T) find.Resolver {
		sum := fnv.New32() // each test meets in a group of its own
		sum.Write([]byte(t.Name()))
		group := netip.AddrPortFrom(netip.AddrFrom4([4]byte{239, 255, 89, byte(sum.Sum32())}), 20000+uint16(sum.Sum32()>>8)%10000)
		r, err := Open(Config{Group: group.String(), Interface: "lo", Key: key, Lease: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return r
	})
}
