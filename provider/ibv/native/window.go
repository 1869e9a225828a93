package native

import "unsafe"

// Window is a memory window of type 2: a request of a queue pair binds it to memory, for the peer of that one.
type Window struct {
	c   unsafe.Pointer
	own *uint32 // the key as the library knows it, in C memory

	Key uint32 // the last that a request to bind it was made with, or the one that it has had from the beginning
}

// NewWindow makes a window that is not bound.
func (d *Domain) NewWindow() (*Window, error) {
	c, errno := cAllocWindow(d.c)
	if errno != 0 {
		return nil, fault("ibv_alloc_mw", errno)
	}
	own := cWindowKey(c)
	return &Window{c, own, *own}, nil
}

// Close unbinds the window and frees it.
func (w *Window) Close() error { return fault("ibv_dealloc_mw", cFreeWindow(w.c)) }

// NextKey is what a window may be bound under next. Only the low eight bits of a key are free (ibv_inc_rkey).
func NextKey(key uint32) uint32 { return key&^0xff | (key+1)&0xff }

// Bind makes r a request that binds a window to a piece of memory, under a new key. While it is posted the library reads the old one from the
// window, and not every library writes the new one there: a window can be bound only once in a call of PostSends.
func (r *SendWR) Bind(w *Window, key uint32, m *Memory, piece SGE, access Access) {
	r.Op, r.Count, r.Imm = bind, 0, 0 // rxe's library looks at all three
	r.binding = binding{window: uintptr(w.c), key: key, memory: uintptr(m.c), address: piece.Address, length: uint64(piece.Length), access: access}
	*w.own, w.Key = w.Key, key
}

// Unbind makes r a request that ends what the window was bound to before. It must have been bound: rxe would crash the kernel.
func (r *SendWR) Unbind(w *Window) { r.Op, r.Count, r.Imm = invalidate, 0, w.Key }
