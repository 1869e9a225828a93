package ibv

import (
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Reset flushes everything and returns the queue pair to New.
func (q *queuePair) Reset(tag driver.Tag) error {
	if q.queue.device.lost.Load() {
		return q.queue.device.errLost()
	}
	q.awaitConnect()
	q.depart()
	if q.state != driver.Error {
		q.state = driver.Error
		q.failDevice()
	}
	q.held = nil
	if err := q.closeNothing(); err != nil { // whether it is bound, nobody knows any more
		return err
	}
	q.endConnect(driver.Flushed)
	if q.pool != nil { // what has arrived comes before the reset, in which a device may drop it
		q.queue.gather()
	}
	q.resetting, q.resetTag = true, tag
	q.drain()
	return nil
}

// finishReset is called when everything is flushed.
func (q *queuePair) finishReset() {
	q.resetting = false
	q.generation = q.queue.pairs.renew(q.slot)
	w := driver.Completion{Tag: q.resetTag, Queue: q.native.Number, Op: driver.OpReset}
	err := q.native.SetState(native.Reset)
	if err == nil {
		err = q.becomeNew()
	}
	if err != nil {
		q.queue.device.log.Error("an RDMA queue pair could not be reset", "device", q.queue.device.Name(), "reason", err)
		w.Status = driver.Flushed
	}
	q.queue.add(w)
}
