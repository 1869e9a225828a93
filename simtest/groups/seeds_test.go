package groups

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var oneSeed = flag.Int64("seed", -1, "run this seed alone")

const (
	peerTimeout = 2 * time.Millisecond
	stall       = 60 * time.Millisecond
	// noticed is how long a crash may take to be reported everywhere: the provider notices within PeerTimeout, at the
	// neighbours of the dead; the others hear it from member to member, in a few microseconds each.
	noticed = peerTimeout + time.Millisecond
	// quiet is longer than anything that could still come.
	quiet = 2 * stall
	// finish is more than any of these transfers takes, with everything that is slow.
	finish = 20 * time.Second
)

// Whatever the shape of the group, the sizes and the moment of a crash: what completes is exact, in order, once; every
// survivor hears of the failure once, in time, by the name of who died; other groups notice nothing; and the survivors
// finish what was under way without sending a block again that arrived.
func TestSeeds(t *testing.T) {
	first, count := uint64(0), uint64(1000)
	switch {
	case *oneSeed >= 0:
		first, count = uint64(*oneSeed), 1
	case os.Getenv("WEFT_LONG") != "":
		count = 20_000
	case testing.Short():
		count = 100
	}
	var sum tally
	for seed := first; seed < first+count; seed++ {
		s := newScenario(seed)
		hash, err := s.play()
		if seed%20 == 0 && err == nil {
			if again, _ := newScenario(seed).play(); again != hash {
				err = fmt.Errorf("the trace is %x, and %x when it is run again", hash, again)
			}
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%v\nto run it alone: go test ./simtest/groups -run TestSeeds -seed %d", seed, err, s, seed)
		}
		sum.add(&s.tally)
	}
	t.Logf("%+v", sum)
	if count >= 100 && (sum.Failures == 0 || sum.Rescued == 0 || sum.Repaired == 0) {
		t.Error("no crash met a message, so nothing was tested")
	}
}

// tally is what happened, so that a test which tests nothing is seen.
type tally struct {
	Groups, Messages, Failures, Repairs, Rescued, Repaired int
}

func (t *tally) add(u *tally) {
	t.Groups += u.Groups
	t.Messages += u.Messages
	t.Failures += u.Failures
	t.Repairs += u.Repairs
	t.Rescued += u.Rescued
	t.Repaired += u.Repaired
}
