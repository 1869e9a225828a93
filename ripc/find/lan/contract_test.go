package lan

import (
	"hash/fnv"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/findtest"
)

func TestContract(t *testing.T) {
	findtest.Run(t, func(t *testing.T) find.Resolver {
		sum := fnv.New32()
		sum.Write([]byte(t.Name()))
		config := group(0x80 | byte(sum.Sum32()))
		config.Interface, config.Key, config.Lease = "lo", key, 200*time.Millisecond
		r, err := Open(config)
		if err != nil {
			t.Fatal(err)
		}
		return r
	})
}
