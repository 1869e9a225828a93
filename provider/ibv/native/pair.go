package native

import "unsafe"

// This file is queue pairs and shared receives, and the arrays of work requests that they post from.

// Pair is a queue pair of reliable connections. Sends and Receives are arrays of work requests in C memory, each with room for
// PairConfig.Spans pieces: fill the first n, then post n.
type Pair struct {
	c        unsafe.Pointer
	Number   uint32
	Inline   int // bytes, as the device has granted them
	Sends    []SendWR
	Receives []RecvWR
	sendSGEs []SGE
	recvSGEs []SGE
	spans    int
}

// NewPair makes a queue pair in the state Reset.
func (d *Domain) NewPair(config PairConfig) (*Pair, error) {
	p, errno := cCreatePair(d.c, config)
	if errno != 0 {
		return nil, fault("ibv_create_qp", errno)
	}
	p.spans = config.Spans
	p.Sends, p.sendSGEs = sends(config.SendDepth, config.Spans)
	if config.Shared == nil {
		p.Receives, p.recvSGEs = receives(config.RecvDepth, config.Spans)
	}
	return p, nil
}

// SendSpans is the room for the pieces of the i-th of Sends.
func (p *Pair) SendSpans(i int) []SGE { return p.sendSGEs[i*p.spans : (i+1)*p.spans] }

// ReceiveSpans is the room for the pieces of the i-th of Receives.
func (p *Pair) ReceiveSpans(i int) []SGE { return p.recvSGEs[i*p.spans : (i+1)*p.spans] }

// PostSends posts the first n of Sends, and says how many were taken.
func (p *Pair) PostSends(n int) (int, error) {
	return posted("ibv_post_send", cPostSend(p.c, unsafe.Pointer(unsafe.SliceData(p.Sends)), n))
}

// PostReceives posts the first n of Receives, and says how many were taken.
func (p *Pair) PostReceives(n int) (int, error) {
	return posted("ibv_post_recv", cPostReceive(p.c, unsafe.Pointer(unsafe.SliceData(p.Receives)), n))
}

// posted takes the shim's answer apart: how many in the upper half, an errno in the lower.
func posted(what string, answer int64) (int, error) {
	if errno := int(uint32(answer)); errno != 0 {
		return int(answer >> 32), fault(what, errno)
	}
	return int(answer >> 32), nil
}

// State asks the device.
func (p *Pair) State() (PairState, error) {
	state, errno := cPairState(p.c)
	return state, fault("ibv_query_qp", errno)
}

// SetState moves the queue pair to Reset or ErrorState.
func (p *Pair) SetState(state PairState) error { return fault("ibv_modify_qp", cSetState(p.c, state)) }

// SetAccess sets the gate, in the states Init (also from Reset to Init) and ReadyToSend.
func (p *Pair) SetAccess(state PairState, port uint8, access Access) error {
	return fault("ibv_modify_qp", cSetAccess(p.c, state, port, access))
}

// Connect moves the queue pair from Init to ReadyToSend. It may block while the peer's link address is looked up.
func (p *Pair) Connect(path *Path) error { return fault("ibv_modify_qp", cToReady(p.c, path)) }

// Close destroys the queue pair.
func (p *Pair) Close() error {
	if err := fault("ibv_destroy_qp", cDestroyPair(p.c)); err != nil {
		return err
	}
	release(p.Sends)
	release(p.sendSGEs)
	release(p.Receives)
	release(p.recvSGEs)
	return nil
}

// Shared is receives shared by queue pairs, posted as those of a Pair.
type Shared struct {
	c        unsafe.Pointer
	Receives []RecvWR
	sges     []SGE
	spans    int
}

// NewShared makes shared receives.
func (d *Domain) NewShared(depth, spans int) (*Shared, error) {
	c, errno := cCreateShared(d.c, depth, spans)
	if errno != 0 {
		return nil, fault("ibv_create_srq", errno)
	}
	s := &Shared{c: c, spans: spans}
	s.Receives, s.sges = receives(depth, spans)
	return s, nil
}

// ReceiveSpans is the room for the pieces of the i-th of Receives.
func (s *Shared) ReceiveSpans(i int) []SGE { return s.sges[i*s.spans : (i+1)*s.spans] }

// PostReceives posts the first n of Receives, and says how many were taken.
func (s *Shared) PostReceives(n int) (int, error) {
	return posted("ibv_post_srq_recv", cPostShared(s.c, unsafe.Pointer(unsafe.SliceData(s.Receives)), n))
}

// Close destroys the shared receives.
func (s *Shared) Close() error {
	if err := fault("ibv_destroy_srq", cDestroyShared(s.c)); err != nil {
		return err
	}
	release(s.Receives)
	release(s.sges)
	return nil
}

// sends makes an array of requests, each linked to the next, with room for their pieces.
func sends(n, spans int) ([]SendWR, []SGE) {
	list, pieces := array[SendWR](n), array[SGE](n*spans)
	for i := range list {
		list[i].Spans = uintptr(unsafe.Pointer(&pieces[i*spans]))
		if i+1 < n {
			list[i].next = uintptr(unsafe.Pointer(&list[i+1]))
		}
	}
	return list, pieces
}

// receives makes an array of receives, as sends does.
func receives(n, spans int) ([]RecvWR, []SGE) {
	list, pieces := array[RecvWR](n), array[SGE](n*spans)
	for i := range list {
		list[i].Spans = uintptr(unsafe.Pointer(&pieces[i*spans]))
		if i+1 < n {
			list[i].next = uintptr(unsafe.Pointer(&list[i+1]))
		}
	}
	return list, pieces
}

// array is n zeroed elements in C memory.
func array[T any](n int) []T {
	if n == 0 {
		return nil
	}
	var one T
	return unsafe.Slice((*T)(cAlloc(n, int(unsafe.Sizeof(one)))), n)
}

// release frees an array.
func release[T any](list []T) { cFree(unsafe.Pointer(unsafe.SliceData(list))) }

// NewBytes is n zeroed bytes in C memory, for those that the library copies while it posts. FreeBytes frees them.
func NewBytes(n int) []byte { return array[byte](n) }

// FreeBytes frees what NewBytes made.
func FreeBytes(b []byte) { release(b) }

// At is a pointer to an address outside the Go heap.
func At(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
