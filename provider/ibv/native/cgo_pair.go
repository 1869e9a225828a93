//go:build cgo

package native

/*
#include "shim.h"
*/
import "C"

import "unsafe"

func cCreatePair(domain unsafe.Pointer, config PairConfig) (*Pair, int) {
	attr := C.struct_wv_qp_init_attr{
		send_cq: (*C.struct_wv_cq)(config.Queue.c),
		recv_cq: (*C.struct_wv_cq)(config.Queue.c),
		cap: C.struct_wv_qp_cap{
			max_send_wr: C.uint32_t(config.SendDepth), max_recv_wr: C.uint32_t(config.RecvDepth),
			max_send_sge: C.uint32_t(config.Spans), max_recv_sge: C.uint32_t(config.Spans),
			max_inline_data: C.uint32_t(config.InlineBytes),
		},
	}
	if config.Shared != nil {
		attr.srq = (*C.struct_wv_srq)(config.Shared.c)
	}
	var p *C.struct_wv_qp
	if errno := C.weft_create_pair((*C.struct_wv_pd)(domain), &attr, &p); errno != 0 {
		return nil, int(errno)
	}
	return &Pair{c: unsafe.Pointer(p), Number: uint32(C.weft_pair_number(p)), Inline: int(attr.cap.max_inline_data)}, 0
}

func cDestroyPair(pair unsafe.Pointer) int { return int(C.weft_destroy_pair((*C.struct_wv_qp)(pair))) }

func cPairState(pair unsafe.Pointer) (PairState, int) {
	var state C.int
	errno := C.weft_pair_state((*C.struct_wv_qp)(pair), &state)
	return PairState(state), int(errno)
}

func cSetState(pair unsafe.Pointer, state PairState) int {
	return int(C.weft_set_state((*C.struct_wv_qp)(pair), C.int(state)))
}

func cSetAccess(pair unsafe.Pointer, state PairState, port uint8, access Access) int {
	return int(C.weft_set_access((*C.struct_wv_qp)(pair), C.int(state), C.uint8_t(port), C.int(access)))
}

func cToReady(pair unsafe.Pointer, p *Path) int {
	path := C.struct_weft_path{
		remote_qpn: C.uint32_t(p.Pair), remote_psn: C.uint32_t(p.PSN), local_psn: C.uint32_t(p.LocalPSN),
		remote_lid: C.uint16_t(p.LID), port: C.uint8_t(p.Port), gid_index: C.uint8_t(p.GIDIndex), hop_limit: C.uint8_t(p.HopLimit),
		traffic_class: C.uint8_t(p.TrafficClass), sl: C.uint8_t(p.Service), mtu: C.uint8_t(p.MTU), reads: C.uint8_t(p.Reads),
		timeout: C.uint8_t(p.Timeout), retries: C.uint8_t(p.Retries), rnr_retries: C.uint8_t(p.RNRRetries),
		min_rnr_timer: C.uint8_t(p.MinRNRTimer),
	}
	*(*[16]byte)(unsafe.Pointer(&path.remote_gid)) = p.GID
	if p.Global {
		path.is_global = 1
	}
	return int(C.weft_to_ready((*C.struct_wv_qp)(pair), &path))
}

func cCreateShared(domain unsafe.Pointer, depth, spans int) (unsafe.Pointer, int) {
	var s *C.struct_wv_srq
	errno := C.weft_create_shared((*C.struct_wv_pd)(domain), C.uint32_t(depth), C.uint32_t(spans), &s)
	return unsafe.Pointer(s), int(errno)
}

func cDestroyShared(shared unsafe.Pointer) int {
	return int(C.weft_destroy_shared((*C.struct_wv_srq)(shared)))
}

func cPostSend(pair, list unsafe.Pointer, n int) int64 {
	return int64(C.weft_post_send(number(pair), number(list), C.int(n)))
}

func cPostReceive(pair, list unsafe.Pointer, n int) int64 {
	return int64(C.weft_post_receive(number(pair), number(list), C.int(n)))
}

func cPostShared(shared, list unsafe.Pointer, n int) int64 {
	return int64(C.weft_post_shared(number(shared), number(list), C.int(n)))
}
