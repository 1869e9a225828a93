package hook

import (
	"strings"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

var changeKey = Plan{[]Rule{{ChangeKey: true}}}

// writeBy writes by a remote key, through a connection that is new if the last write was refused.
func (r *rig) writeBy(key uint64) driver.Status {
	r.t.Helper()
	q := r.request(1, driver.OpWrite, 0)
	q.Remote.Key = key
	r.post(r.a, q)
	status := r.poll()[0].Status
	if status != driver.OK {
		r.control(1, func() error { return r.b.Reset(5) })
		r.control(1, func() error { return r.a.Reset(5) })
		r.control(2, func() error {
			r.connect(r.a, r.b)
			r.connect(r.b, r.a)
			return nil
		})
	}
	return status
}

func (r *rig) setMemoryAccess(access driver.Access) {
	r.t.Helper()
	r.control(1, func() error { return r.theirs.(driver.MemoryAccess).SetAccess(r.queue, 6, access) })
}

// TestChangeKey: each change of access gives a new key, which has the new access; the keys before it are dead. Nothing
// else about the memory changes.
func TestChangeKey(t *testing.T) {
	r := faultySoft(t, changeKey)
	first := r.theirs.Region()
	r.setMemoryAccess(driver.RemoteAll)
	second := r.theirs.Region()
	if first.RemoteKey == second.RemoteKey {
		t.Errorf("the key is still %#x", second.RemoteKey)
	}
	if first.Address != second.Address || first.LocalKey != second.LocalKey || &first.Bytes[0] != &second.Bytes[0] {
		t.Errorf("more than the remote key has changed: %+v, then %+v", first, second)
	}
	if got := r.writeBy(second.RemoteKey); got != driver.OK {
		t.Errorf("write by the new key: %v", got)
	}
	if got := r.writeBy(first.RemoteKey); !got.Refused() {
		t.Errorf("write by the old key: %v", got)
	}
	r.setMemoryAccess(driver.RemoteRead)
	for _, key := range []uint64{first.RemoteKey, second.RemoteKey, r.theirs.Region().RemoteKey} {
		if got := r.writeBy(key); !got.Refused() {
			t.Errorf("write without access: %v", got)
		}
	}
	third := r.theirs.Region().RemoteKey
	closeAll(t, r.theirs)
	if got := r.writeBy(third); !got.Refused() {
		t.Errorf("write to closed memory: %v", got)
	}
}

// TestChangeKeyByRule: a rule that does not strike leaves the key alone.
func TestChangeKeyByRule(t *testing.T) {
	r := faultySoft(t, Plan{[]Rule{{ChangeKey: true, Nth: 2}}})
	before := r.theirs.Region().RemoteKey
	r.setMemoryAccess(driver.RemoteAll)
	if after := r.theirs.Region().RemoteKey; after != before {
		t.Errorf("the first change of access gave a new key")
	}
	r.setMemoryAccess(driver.RemoteAll)
	if after := r.theirs.Region().RemoteKey; after == before {
		t.Errorf("the second change of access gave no new key")
	}
}

// TestChangeKeyElsewhere: where memory has another address when it is registered again, the key cannot change.
func TestChangeKeyElsewhere(t *testing.T) {
	r := faultySim(t, changeKey)
	before := r.theirs.Region()
	err := r.theirs.(driver.MemoryAccess).SetAccess(r.queue, 6, driver.RemoteRead)
	if err == nil || !strings.Contains(err.Error(), "would move") {
		t.Errorf("SetAccess: %v", err)
	}
	if got := r.writeBy(before.RemoteKey); got != driver.OK {
		t.Errorf("write after a change that was refused: %v", got)
	}
}
