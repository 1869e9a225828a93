package ibv

import (
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// receive is what must be known of a posted receive when it ends.
type receive struct {
	tag    driver.Tag
	pieces []driver.Span // that are not empty; the room is reused
}

func (r *receive) keep(from *driver.Receive) {
	r.tag, r.pieces = from.Tag, r.pieces[:0]
	if from.Span.Length > 0 {
		r.pieces = append(r.pieces, from.Span)
	}
	for _, s := range from.More {
		if s.Length > 0 {
			r.pieces = append(r.pieces, s)
		}
	}
}

// fillReceive writes the pieces of a receive where the device reads them. Empty ones are left out: they need no valid key.
func fillReceive(into []native.SGE, r *driver.Receive) int32 {
	n := fillSpan(into, 0, r.Span)
	for _, s := range r.More {
		n = fillSpan(into, n, s)
	}
	return n
}

func fillSpan(into []native.SGE, n int32, s driver.Span) int32 {
	if s.Length == 0 {
		return n
	}
	into[n] = native.SGE{Address: s.Address, Length: s.Length, Key: s.Key}
	return n + 1
}

// fillArrival says what has arrived, or why nothing has.
func (d *domain) fillArrival(r *receive, from *native.WC, into *driver.Completion) {
	into.Op = driver.OpReceive
	if from.Status != native.Success {
		into.Status = d.arrivalStatus(r, from.Status)
		return
	}
	into.Bytes = from.Bytes
	switch {
	case from.Op == native.ReceivedWriteImm:
		into.Op, into.Imm = driver.OpReceiveWriteImm, networkOrder(from.Imm)
	case from.Flags&native.WithImm != 0:
		into.Op, into.Imm = driver.OpReceiveImm, networkOrder(from.Imm)
	}
}

// arrivalStatus says why a receive failed. Devices differ: of a message that is too long and of a receive outside its memory rxe says the
// same, so it is looked up here; and a WriteImm that was refused ends the receive that it would have taken in several ways.
func (d *domain) arrivalStatus(r *receive, s native.WCStatus) driver.Status {
	switch s {
	case native.FlushError, native.RemoteAccess, native.RemoteInvalid:
		return driver.Flushed
	case native.LocalLength:
		return driver.LocalLength
	}
	for _, piece := range r.pieces {
		if !d.owns(piece) {
			return driver.LocalProtection
		}
	}
	return driver.LocalLength
}
