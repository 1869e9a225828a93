package ibv

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// SetAccess changes the gate.
func (q *queuePair) SetAccess(tag driver.Tag, access driver.Access) error {
	if q.queue.device.lost.Load() {
		return q.queue.device.errLost()
	}
	q.access = access
	if q.state == driver.Connecting && !q.isLinked {
		q.accessTags = append(q.accessTags, tag)
		return nil
	}
	q.changeAccess(tag)
	return nil
}

// changeAccess has the device check by the new access from now on, and completes when nothing that it takes away can land any more. In
// Error the device refuses everything, and the next incarnation begins with the new access; but what it was carrying out when it went
// there may still be landing. A device that cannot change the access must not go on with the old one.
func (q *queuePair) changeAccess(tag driver.Tag) {
	if q.state == driver.New || q.state == driver.Ready || q.state == driver.Connecting {
		if err := q.native.SetAccess(q.nativeState(), q.port(), accessFlags(q.access)); err != nil {
			q.state = max(q.state, driver.Ready)
			q.fail(0)
		}
	}
	if revoked := accessFlags(q.checked) &^ accessFlags(q.access); revoked != 0 && q.state != driver.New {
		q.queue.device.settleDown()
	}
	q.checked = q.access
	q.queue.add(driver.Completion{Tag: tag, Queue: q.native.Number, Op: driver.OpQueueAccess})
}

// nativeState is the device's word for New, or for Ready and the end of Connecting, in which only the peer's word is missing.
func (q *queuePair) nativeState() native.PairState {
	if q.state == driver.New {
		return native.Init
	}
	return native.ReadyToSend
}

// settleDown waits until what a software device was carrying out has landed. Such a device looks at the gate when it begins a packet, and
// copies the packet then. It does so in parts of the kernel that a grace period of RCU waits for; only in some cases it does so in a
// process, where a tick of the clock in the middle of the copy ends the grace period too early, so there are two: between two ticks
// there is time for thousands of such copies. Hardware sees to it itself: the change is a command to it. ADR 10 has the reasons.
func (d *Device) settleDown() {
	if !d.isSoftware() {
		return
	}
	for range 2 {
		if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0); errno != 0 {
			time.Sleep(withoutGrace)
		}
	}
}

const membarrierGlobal = 1 // MEMBARRIER_CMD_GLOBAL: a grace period of RCU

// withoutGrace is how long to wait where the kernel has no grace periods to offer (nohz_full, or a filter on system calls): many times what
// a packet takes, though nobody promises that.
const withoutGrace = 100 * time.Millisecond

func (d *Device) isSoftware() bool {
	return d.choice.Device.Driver == "rxe" || d.choice.Device.Driver == "siw"
}
