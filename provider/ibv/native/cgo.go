//go:build cgo

package native

/*
#cgo LDFLAGS: -ldl
#cgo noescape weft_arm
#cgo nocallback weft_arm
#cgo noescape weft_take_notices
#cgo nocallback weft_take_notices
#cgo noescape weft_register
#cgo nocallback weft_register
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"unsafe"
)

// The functions of the fast path (weft_poll and those that post) get numbers only, so that nothing can escape to them, and noescape has
// nothing to say. Nocallback, which goes with it, would cost them a tenth of the call: 28.4 ns instead of 25.6 (BenchmarkCall).

// The mirrors must lie as the C structs do: a difference does not compile.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(SGE{})-C.sizeof_struct_wv_sge]
	_ = [1]struct{}{}[unsafe.Sizeof(SendWR{})-C.sizeof_struct_wv_send_wr]
	_ = [1]struct{}{}[unsafe.Sizeof(RecvWR{})-C.sizeof_struct_wv_recv_wr]
	_ = [1]struct{}{}[unsafe.Sizeof(WC{})-C.sizeof_struct_wv_wc]
	_ = [1]struct{}{}[unsafe.Offsetof(SendWR{}.Op)-unsafe.Offsetof(C.struct_wv_send_wr{}.opcode)]
	_ = [1]struct{}{}[unsafe.Offsetof(SendWR{}.Imm)-unsafe.Offsetof(C.struct_wv_send_wr{}.imm_data)]
	_ = [1]struct{}{}[unsafe.Offsetof(SendWR{}.Remote)-unsafe.Offsetof(C.struct_wv_send_wr{}.remote_addr)]
	_ = [1]struct{}{}[unsafe.Offsetof(SendWR{}.Swap)-unsafe.Offsetof(C.struct_wv_send_wr{}.swap)]
	_ = [1]struct{}{}[unsafe.Offsetof(SendWR{}.AtomKey)-unsafe.Offsetof(C.struct_wv_send_wr{}.atomic_rkey)]
	_ = [1]struct{}{}[unsafe.Offsetof(SendWR{}.binding)-unsafe.Offsetof(C.struct_wv_send_wr{}.mw)]
	_ = [1]struct{}{}[unsafe.Offsetof(binding{}.memory)-(unsafe.Offsetof(C.struct_wv_send_wr{}.mw_mr)-unsafe.Offsetof(C.struct_wv_send_wr{}.mw))]
	_ = [1]struct{}{}[unsafe.Offsetof(binding{}.access)-(unsafe.Offsetof(C.struct_wv_send_wr{}.mw_access)-unsafe.Offsetof(C.struct_wv_send_wr{}.mw))]
	_ = [1]struct{}{}[unsafe.Offsetof(RecvWR{}.Count)-unsafe.Offsetof(C.struct_wv_recv_wr{}.num_sge)]
	_ = [1]struct{}{}[unsafe.Offsetof(WC{}.Bytes)-unsafe.Offsetof(C.struct_wv_wc{}.byte_len)]
	_ = [1]struct{}{}[unsafe.Offsetof(WC{}.Imm)-unsafe.Offsetof(C.struct_wv_wc{}.imm_data)]
	_ = [1]struct{}{}[unsafe.Offsetof(WC{}.Pair)-unsafe.Offsetof(C.struct_wv_wc{}.qp_num)]
	_ = [1]struct{}{}[unsafe.Offsetof(WC{}.Flags)-unsafe.Offsetof(C.struct_wv_wc{}.wc_flags)]
)

func load() error {
	if missing := C.weft_load(); missing != nil {
		return errors.New(C.GoString(missing))
	}
	return nil
}

// Nothing calls C and does nothing there: what a call costs.
func Nothing() { C.weft_nothing() }

func cAlloc(n, size int) unsafe.Pointer { return C.calloc(C.size_t(n), C.size_t(size)) }

func cFree(p unsafe.Pointer) { C.free(p) }

func cOpen(name string) (context unsafe.Pointer, errno int) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var c *C.struct_wv_context
	errno = int(C.weft_open(text, &c))
	return unsafe.Pointer(c), errno
}

func cClose(context unsafe.Pointer) int { return int(C.weft_close((*C.struct_wv_context)(context))) }

func cAsyncFD(context unsafe.Pointer) int {
	return int(C.weft_async_fd((*C.struct_wv_context)(context)))
}

func cNextEvent(context unsafe.Pointer) (Event, int) {
	var kind C.int
	var whose C.uint32_t
	errno := C.weft_next_event((*C.struct_wv_context)(context), &kind, &whose)
	return Event{EventType(kind), uint32(whose)}, int(errno)
}

func cQueryDevice(context unsafe.Pointer) (DeviceAttr, int) {
	var a C.struct_wv_device_attr
	errno := C.weft_query_device((*C.struct_wv_context)(context), &a)
	return DeviceAttr{
		MaxPairs: int(a.max_qp), MaxDepth: int(a.max_qp_wr), MaxSpans: int(a.max_sge), MaxReadSpans: int(a.max_sge_rd),
		MaxQueues: int(a.max_cq), MaxQueueDepth: int(a.max_cqe),
		MaxReadsIn: int(a.max_qp_rd_atom), MaxReadsOut: int(a.max_qp_init_rd_atom),
		MaxShared: int(a.max_srq), MaxSharedDepth: int(a.max_srq_wr), MaxSharedSpans: int(a.max_srq_sge),
		MaxMemories: int(a.max_mr), Ports: int(a.phys_port_cnt), AckDelay: int(a.local_ca_ack_delay),
		HasAtomics: a.atomic_cap != 0, HasWindows: a.device_cap_flags&(C.WV_MEM_WINDOW_TYPE_2A|C.WV_MEM_WINDOW_TYPE_2B) != 0, Firmware: C.GoString(&a.fw_ver[0]),
	}, int(errno)
}

func cQueryPort(context unsafe.Pointer, port uint8) (PortAttr, int) {
	const active, ethernet = 4, 2
	var a C.struct_wv_port_attr
	errno := C.weft_query_port((*C.struct_wv_context)(context), C.uint8_t(port), &a)
	return PortAttr{Active: a.state == active, MTU: int(a.active_mtu), MaxMessage: uint32(a.max_msg_sz), LID: uint16(a.lid),
		Ethernet: a.link_layer == ethernet}, int(errno)
}

func cAllocDomain(context unsafe.Pointer) (unsafe.Pointer, int) {
	var d *C.struct_wv_pd
	errno := C.weft_alloc_domain((*C.struct_wv_context)(context), &d)
	return unsafe.Pointer(d), int(errno)
}

func cFreeDomain(domain unsafe.Pointer) int {
	return int(C.weft_free_domain((*C.struct_wv_pd)(domain)))
}

func cRegister(domain, address unsafe.Pointer, length int, access Access, into *Memory) int {
	var m *C.struct_wv_mr
	errno := C.weft_register((*C.struct_wv_pd)(domain), address, C.size_t(length), C.int(access), &m)
	if errno == 0 {
		*into = Memory{unsafe.Pointer(m), uint32(m.lkey), uint32(m.rkey)}
	}
	return int(errno)
}

func cDeregister(memory unsafe.Pointer) int { return int(C.weft_deregister((*C.struct_wv_mr)(memory))) }

func cAllocWindow(domain unsafe.Pointer) (window unsafe.Pointer, errno int) {
	var w *C.struct_wv_mw
	errno = int(C.weft_alloc_window((*C.struct_wv_pd)(domain), &w))
	return unsafe.Pointer(w), errno
}

func cFreeWindow(window unsafe.Pointer) int {
	return int(C.weft_free_window((*C.struct_wv_mw)(window)))
}

// cWindowKey is where the library looks for the key that a window has before it is bound.
func cWindowKey(window unsafe.Pointer) *uint32 {
	return (*uint32)(unsafe.Pointer(&(*C.struct_wv_mw)(window).rkey))
}

func cCreateQueue(context unsafe.Pointer, depth int) (queue, channel unsafe.Pointer, errno int) {
	var q *C.struct_wv_cq
	var c *C.struct_wv_channel
	failed := C.weft_create_queue((*C.struct_wv_context)(context), C.int(depth), &q, &c)
	return unsafe.Pointer(q), unsafe.Pointer(c), int(failed)
}

func cDestroyQueue(queue, channel unsafe.Pointer) int {
	return int(C.weft_destroy_queue((*C.struct_wv_cq)(queue), (*C.struct_wv_channel)(channel)))
}

func cChannelFD(channel unsafe.Pointer) int {
	return int(C.weft_channel_fd((*C.struct_wv_channel)(channel)))
}

func cArm(queue unsafe.Pointer) int { return int(C.weft_arm((*C.struct_wv_cq)(queue))) }

func cTakeNotices(channel unsafe.Pointer) int {
	return int(C.weft_take_notices((*C.struct_wv_channel)(channel)))
}

// number is a pointer to C memory that Go need not look at.
func number(p unsafe.Pointer) C.uintptr_t { return C.uintptr_t(uintptr(p)) }

func cPoll(queue unsafe.Pointer, n int, into unsafe.Pointer) int {
	return int(C.weft_poll(number(queue), C.int(n), number(into)))
}
