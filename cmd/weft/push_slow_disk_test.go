package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
)

// asSlowDisk in the environment names a file: as long as it is there, an agent is slow to write blocks.
const asSlowDisk = "WEFT_TEST_SLOW_DISK"

// slowDisk writes a block after the other, and takes its time.
type slowDisk struct {
	member.Blocks
	sign string
	mu   sync.Mutex
}

func (d *slowDisk) Keep(layout manifest.Layout, block int, wire []byte) error {
	if _, err := os.Lstat(d.sign); err == nil {
		d.mu.Lock()
		time.Sleep(20 * time.Millisecond)
		d.mu.Unlock()
	}
	return d.Blocks.Keep(layout, block, wire)
}

// A host whose disk is slow is served last, so that the others need not wait for it; and then it has everything, too.
func TestPushToASlowDisk(t *testing.T) {
	t.Parallel()
	f := idleRemoteFleet(t, 4, 40<<20, "100mbit")
	slow, sign := f.agents[2], filepath.Join(t.TempDir(), "slow")
	put(t, sign, "")
	slow.env = []string{asSlowDisk + "=" + sign}
	u := f.launch().push()
	u.demotes(slow, "its disk is slow")
	if err := os.Remove(sign); err != nil { // what follows need not take long
		t.Fatal(err)
	}
	l := f.layout()
	f.servedLast(u, slow, l.WireSize()+l.WireSize()/8)
}

// One that is served last, and is killed then, costs nobody else anything, and is sent what it lacks when it is back.
func TestPushToASlowDiskThatIsLost(t *testing.T) {
	t.Parallel()
	f := idleRemoteFleet(t, 4, 40<<20, "400mbit")
	slow, sign := f.agents[2], filepath.Join(t.TempDir(), "slow")
	put(t, sign, "")
	slow.env = []string{asSlowDisk + "=" + sign}
	u := f.launch().push()
	u.demotes(slow, "its disk is slow")
	f.await(u, moment{name: "stragglers", comes: begins("stragglers")}, slow)
	had := f.onDisk(slow)
	slow.kill()
	r := u.end(push.ExitPartial)
	if h := outcomeOf(r, slow); h.Outcome != push.OutcomeFailed || !h.Demoted || verified(r) != len(f.agents)-1 {
		t.Errorf("%+v", r.Hosts)
	}
	f.keeps(had)
	missed(t, f, slow)
	slow.env = nil
	f.rerun(r)
}
