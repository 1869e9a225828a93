/* Compares our declarations with the real headers. It is compiled, never run: a difference does not compile. */
#include <infiniband/verbs.h>

#include "../abi.h"

#define SAME_SIZE(ours, real) _Static_assert(sizeof(struct ours) == sizeof(struct real), #real " has another size")
#define SAME(ours, a, real, b) \
	_Static_assert(offsetof(struct ours, a) == offsetof(struct real, b), #real "." #b " is elsewhere"); \
	_Static_assert(sizeof(((struct ours *)0)->a) == sizeof(((struct real *)0)->b), #real "." #b " has another size")
#define SAME_NAME(ours, real, a) SAME(ours, a, real, a)
#define SAME_VALUE(ours, real) _Static_assert((int)(ours) == (int)(real), #real " has another value")

SAME_SIZE(wv_sge, ibv_sge);
SAME_NAME(wv_sge, ibv_sge, addr);
SAME_NAME(wv_sge, ibv_sge, length);
SAME_NAME(wv_sge, ibv_sge, lkey);

SAME_SIZE(wv_recv_wr, ibv_recv_wr);
SAME_NAME(wv_recv_wr, ibv_recv_wr, wr_id);
SAME_NAME(wv_recv_wr, ibv_recv_wr, next);
SAME_NAME(wv_recv_wr, ibv_recv_wr, sg_list);
SAME_NAME(wv_recv_wr, ibv_recv_wr, num_sge);

SAME_SIZE(wv_send_wr, ibv_send_wr);
SAME_NAME(wv_send_wr, ibv_send_wr, wr_id);
SAME_NAME(wv_send_wr, ibv_send_wr, next);
SAME_NAME(wv_send_wr, ibv_send_wr, sg_list);
SAME_NAME(wv_send_wr, ibv_send_wr, num_sge);
SAME_NAME(wv_send_wr, ibv_send_wr, opcode);
SAME_NAME(wv_send_wr, ibv_send_wr, send_flags);
SAME_NAME(wv_send_wr, ibv_send_wr, imm_data);
SAME(wv_send_wr, remote_addr, ibv_send_wr, wr.rdma.remote_addr);
SAME(wv_send_wr, rkey, ibv_send_wr, wr.rdma.rkey);
SAME(wv_send_wr, remote_addr, ibv_send_wr, wr.atomic.remote_addr);
SAME(wv_send_wr, compare_add, ibv_send_wr, wr.atomic.compare_add);
SAME(wv_send_wr, swap, ibv_send_wr, wr.atomic.swap);
SAME(wv_send_wr, atomic_rkey, ibv_send_wr, wr.atomic.rkey);
SAME(wv_send_wr, imm_data, ibv_send_wr, invalidate_rkey);
SAME(wv_send_wr, mw, ibv_send_wr, bind_mw.mw);
SAME(wv_send_wr, mw_rkey, ibv_send_wr, bind_mw.rkey);
SAME(wv_send_wr, mw_mr, ibv_send_wr, bind_mw.bind_info.mr);
SAME(wv_send_wr, mw_addr, ibv_send_wr, bind_mw.bind_info.addr);
SAME(wv_send_wr, mw_length, ibv_send_wr, bind_mw.bind_info.length);
SAME(wv_send_wr, mw_access, ibv_send_wr, bind_mw.bind_info.mw_access_flags);

SAME_SIZE(wv_wc, ibv_wc);
SAME_NAME(wv_wc, ibv_wc, wr_id);
SAME_NAME(wv_wc, ibv_wc, status);
SAME_NAME(wv_wc, ibv_wc, opcode);
SAME_NAME(wv_wc, ibv_wc, byte_len);
SAME_NAME(wv_wc, ibv_wc, imm_data);
SAME_NAME(wv_wc, ibv_wc, qp_num);
SAME_NAME(wv_wc, ibv_wc, wc_flags);

SAME_SIZE(wv_context_ops, ibv_context_ops);
SAME_NAME(wv_context_ops, ibv_context_ops, alloc_mw);
SAME_NAME(wv_context_ops, ibv_context_ops, dealloc_mw);
SAME_NAME(wv_context_ops, ibv_context_ops, poll_cq);
SAME_NAME(wv_context_ops, ibv_context_ops, req_notify_cq);
SAME_NAME(wv_context_ops, ibv_context_ops, post_srq_recv);
SAME_NAME(wv_context_ops, ibv_context_ops, post_send);
SAME_NAME(wv_context_ops, ibv_context_ops, post_recv);
SAME_NAME(wv_context, ibv_context, ops);
SAME_NAME(wv_context, ibv_context, async_fd);

SAME_NAME(wv_pd, ibv_pd, context);
SAME_NAME(wv_cq, ibv_cq, context);
SAME_NAME(wv_srq, ibv_srq, context);
SAME_NAME(wv_qp, ibv_qp, context);
SAME_NAME(wv_qp, ibv_qp, qp_num);
SAME_NAME(wv_mr, ibv_mr, lkey);
SAME_NAME(wv_mr, ibv_mr, rkey);
SAME_SIZE(wv_mw, ibv_mw);
SAME_NAME(wv_mw, ibv_mw, context);
SAME_NAME(wv_mw, ibv_mw, rkey);
SAME_SIZE(wv_channel, ibv_comp_channel);
SAME_NAME(wv_channel, ibv_comp_channel, fd);

SAME_SIZE(wv_device_attr, ibv_device_attr);
SAME_NAME(wv_device_attr, ibv_device_attr, max_qp);
SAME_NAME(wv_device_attr, ibv_device_attr, device_cap_flags);
SAME_NAME(wv_device_attr, ibv_device_attr, max_sge);
SAME_NAME(wv_device_attr, ibv_device_attr, max_qp_rd_atom);
SAME_NAME(wv_device_attr, ibv_device_attr, max_qp_init_rd_atom);
SAME_NAME(wv_device_attr, ibv_device_attr, atomic_cap);
SAME_NAME(wv_device_attr, ibv_device_attr, max_mw);
SAME_NAME(wv_device_attr, ibv_device_attr, max_srq_sge);
SAME_NAME(wv_device_attr, ibv_device_attr, phys_port_cnt);

SAME_SIZE(wv_port_attr, ibv_port_attr);
SAME_NAME(wv_port_attr, ibv_port_attr, active_mtu);
SAME_NAME(wv_port_attr, ibv_port_attr, max_msg_sz);
SAME_NAME(wv_port_attr, ibv_port_attr, lid);
SAME_NAME(wv_port_attr, ibv_port_attr, link_layer);

SAME_SIZE(wv_qp_init_attr, ibv_qp_init_attr);
SAME_NAME(wv_qp_init_attr, ibv_qp_init_attr, srq);
SAME_NAME(wv_qp_init_attr, ibv_qp_init_attr, cap);
SAME_NAME(wv_qp_init_attr, ibv_qp_init_attr, qp_type);
SAME_NAME(wv_qp_init_attr, ibv_qp_init_attr, sq_sig_all);
SAME_SIZE(wv_qp_cap, ibv_qp_cap);
SAME_NAME(wv_qp_cap, ibv_qp_cap, max_inline_data);

SAME_SIZE(wv_qp_attr, ibv_qp_attr);
SAME_NAME(wv_qp_attr, ibv_qp_attr, qp_state);
SAME_NAME(wv_qp_attr, ibv_qp_attr, path_mtu);
SAME_NAME(wv_qp_attr, ibv_qp_attr, rq_psn);
SAME_NAME(wv_qp_attr, ibv_qp_attr, sq_psn);
SAME_NAME(wv_qp_attr, ibv_qp_attr, dest_qp_num);
SAME_NAME(wv_qp_attr, ibv_qp_attr, qp_access_flags);
SAME_NAME(wv_qp_attr, ibv_qp_attr, ah_attr);
SAME_NAME(wv_qp_attr, ibv_qp_attr, pkey_index);
SAME_NAME(wv_qp_attr, ibv_qp_attr, max_rd_atomic);
SAME_NAME(wv_qp_attr, ibv_qp_attr, max_dest_rd_atomic);
SAME_NAME(wv_qp_attr, ibv_qp_attr, min_rnr_timer);
SAME_NAME(wv_qp_attr, ibv_qp_attr, port_num);
SAME_NAME(wv_qp_attr, ibv_qp_attr, timeout);
SAME_NAME(wv_qp_attr, ibv_qp_attr, retry_cnt);
SAME_NAME(wv_qp_attr, ibv_qp_attr, rnr_retry);
SAME_NAME(wv_ah_attr, ibv_ah_attr, dlid);
SAME_NAME(wv_ah_attr, ibv_ah_attr, sl);
SAME_NAME(wv_ah_attr, ibv_ah_attr, is_global);
SAME_NAME(wv_ah_attr, ibv_ah_attr, port_num);
SAME_NAME(wv_global_route, ibv_global_route, dgid);
SAME_NAME(wv_global_route, ibv_global_route, sgid_index);
SAME_NAME(wv_global_route, ibv_global_route, hop_limit);
SAME_NAME(wv_global_route, ibv_global_route, traffic_class);

SAME_SIZE(wv_srq_init_attr, ibv_srq_init_attr);
SAME(wv_srq_init_attr, max_wr, ibv_srq_init_attr, attr.max_wr);
SAME(wv_srq_init_attr, max_sge, ibv_srq_init_attr, attr.max_sge);
SAME_SIZE(wv_async_event, ibv_async_event);
SAME_NAME(wv_async_event, ibv_async_event, event_type);

SAME_VALUE(WV_RC, IBV_QPT_RC);
SAME_VALUE(WV_MW_TYPE_2, IBV_MW_TYPE_2);
SAME_VALUE(WV_MEM_WINDOW_TYPE_2A, IBV_DEVICE_MEM_WINDOW_TYPE_2A);
SAME_VALUE(WV_MEM_WINDOW_TYPE_2B, IBV_DEVICE_MEM_WINDOW_TYPE_2B);
SAME_VALUE(WV_RESET, IBV_QPS_RESET);
SAME_VALUE(WV_INIT, IBV_QPS_INIT);
SAME_VALUE(WV_RTS, IBV_QPS_RTS);
SAME_VALUE(WV_ERR, IBV_QPS_ERR);
SAME_VALUE(WV_STATE, IBV_QP_STATE);
SAME_VALUE(WV_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
SAME_VALUE(WV_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME_VALUE(WV_PORT, IBV_QP_PORT);
SAME_VALUE(WV_AV, IBV_QP_AV);
SAME_VALUE(WV_PATH_MTU, IBV_QP_PATH_MTU);
SAME_VALUE(WV_TIMEOUT, IBV_QP_TIMEOUT);
SAME_VALUE(WV_RETRY_CNT, IBV_QP_RETRY_CNT);
SAME_VALUE(WV_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME_VALUE(WV_RQ_PSN, IBV_QP_RQ_PSN);
SAME_VALUE(WV_MAX_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME_VALUE(WV_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME_VALUE(WV_SQ_PSN, IBV_QP_SQ_PSN);
SAME_VALUE(WV_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME_VALUE(WV_DEST_QPN, IBV_QP_DEST_QPN);
