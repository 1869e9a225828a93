package ibv

import (
	"unsafe"

	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is how a request does nothing. A Bind or Revoke whose window was closed meanwhile still has to end in its turn, and libibverbs
// has no request for that. So a window that nobody knows is bound to memory that grants nothing, and the next time unbound.

// fillNothing fills a request that does nothing.
func (q *queuePair) fillNothing(n int, r *driver.Request) (int, error) {
	if err := q.prepareNothing(); err != nil {
		return n, err
	}
	q.requests.at(q.requests.given + uint32(n)).window = 0
	w := q.nobodys
	if w.isLent {
		q.fillRevoke(n, r, w)
		return n + 1, nil
	}
	again := *r
	again.Remote.Key, again.Swap = uint64(native.NextKey(w.native.Key)), 0
	again.Span = driver.Span{Address: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(q.domain.nothing)))), Length: nothingSize}
	return q.fillBind(n, &again, w, q.domain.nothingMemory)
}

// prepareNothing makes what fillNothing needs, once.
func (q *queuePair) prepareNothing() error {
	d := q.domain
	if d.nothing == nil {
		b := native.NewBytes(nothingSize)
		m, err := d.register(b, d.localAccess())
		if err != nil {
			native.FreeBytes(b)
			return err
		}
		d.nothing, d.nothingMemory = b, m
	}
	if q.nobodys == nil {
		n, err := d.native.NewWindow()
		if err != nil {
			return err
		}
		q.nobodys = &window{pair: q, native: n}
	}
	return nil
}

const nothingSize = 8

// closeNothing frees the window before the queue pair that it may be bound with.
func (q *queuePair) closeNothing() error {
	if q.nobodys == nil {
		return nil
	}
	w := q.nobodys
	q.nobodys = nil
	return q.queue.device.forgive(w.end())
}

// closeNothing frees the memory.
func (d *domain) closeNothing() error {
	if d.nothing == nil {
		return nil
	}
	if err := d.nothingMemory.Close(); err != nil {
		return d.device.forgive(err)
	}
	native.FreeBytes(d.nothing)
	d.nothing = nil
	return nil
}
