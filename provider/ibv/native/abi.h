/*
 * What Weft uses of libibverbs' binary interface (IBVERBS_1.1), declared by ourselves: building needs no RDMA headers. The layout has been
 * frozen since 2007; testdata/layout.c compares it with the real headers.
 */
#ifndef WEFT_IBV_ABI_H
#define WEFT_IBV_ABI_H

#include <stdint.h>
#include <stddef.h>

struct wv_device; /* opaque: ibv_get_device_name names it */
struct wv_context;
struct wv_cq;
struct wv_srq;
struct wv_qp;
struct wv_pd;
struct wv_mr;
struct wv_mw;
struct wv_channel { struct wv_context *context; int fd; int refcnt; };

struct wv_sge { uint64_t addr; uint32_t length, lkey; };

struct wv_recv_wr { uint64_t wr_id; struct wv_recv_wr *next; struct wv_sge *sg_list; int num_sge; };

/* The union of rdma and atomic, laid flat: an rdma's rkey lies where an atomic's compare_add begins. */
struct wv_send_wr {
	uint64_t wr_id;
	struct wv_send_wr *next;
	struct wv_sge *sg_list;
	int num_sge;
	int opcode;
	unsigned send_flags;
	uint32_t imm_data; /* of a local invalidate: the key, not in network byte order */
	uint64_t remote_addr;
	union { uint64_t compare_add; uint32_t rkey; };
	uint64_t swap;
	uint32_t atomic_rkey;
	uint32_t atomic_pad;
	uint64_t unused;
	struct wv_mw *mw; /* from here on: a bind */
	uint32_t mw_rkey, mw_pad;
	struct wv_mr *mw_mr;
	uint64_t mw_addr, mw_length;
	unsigned mw_access;
};

struct wv_wc {
	uint64_t wr_id;
	int status, opcode;
	uint32_t vendor_err, byte_len, imm_data, qp_num, src_qp;
	unsigned wc_flags;
	uint16_t pkey_index, slid;
	uint8_t sl, dlid_path_bits;
};

struct wv_context_ops {
	void *before_windows[7];
	struct wv_mw *(*alloc_mw)(struct wv_pd *, int);
	void *bind_mw; /* for windows of type 1 */
	int (*dealloc_mw)(struct wv_mw *);
	void *before_poll;
	int (*poll_cq)(struct wv_cq *, int, struct wv_wc *);
	int (*req_notify_cq)(struct wv_cq *, int);
	void *before_srq[7];
	int (*post_srq_recv)(struct wv_srq *, struct wv_recv_wr *, struct wv_recv_wr **);
	void *before_send[4];
	int (*post_send)(struct wv_qp *, struct wv_send_wr *, struct wv_send_wr **);
	int (*post_recv)(struct wv_qp *, struct wv_recv_wr *, struct wv_recv_wr **);
	void *after_recv[5];
};

struct wv_context {
	struct wv_device *device;
	struct wv_context_ops ops;
	int cmd_fd, async_fd, num_comp_vectors;
	/* more that is not ours */
};

/* Of the objects below only the beginning is declared: libibverbs makes them. */
struct wv_pd { struct wv_context *context; };
struct wv_mr { struct wv_context *context; struct wv_pd *pd; void *addr; size_t length; uint32_t handle, lkey, rkey; };
struct wv_mw { struct wv_context *context; struct wv_pd *pd; uint32_t rkey, handle; int type; };
struct wv_cq { struct wv_context *context; };
struct wv_srq { struct wv_context *context; };
struct wv_qp {
	struct wv_context *context;
	void *qp_context;
	struct wv_pd *pd;
	struct wv_cq *send_cq, *recv_cq;
	struct wv_srq *srq;
	uint32_t handle, qp_num;
};

struct wv_device_attr {
	char fw_ver[64];
	uint64_t node_guid, sys_image_guid, max_mr_size, page_size_cap;
	uint32_t vendor_id, vendor_part_id, hw_ver;
	int max_qp, max_qp_wr;
	unsigned device_cap_flags;
	int max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd, max_qp_rd_atom, max_ee_rd_atom, max_res_rd_atom, max_qp_init_rd_atom,
		max_ee_init_rd_atom, atomic_cap, max_ee, max_rdd, max_mw, max_raw_ipv6_qp, max_raw_ethy_qp, max_mcast_grp,
		max_mcast_qp_attach, max_total_mcast_qp_attach, max_ah, max_fmr, max_map_per_fmr, max_srq, max_srq_wr, max_srq_sge;
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay, phys_port_cnt;
};

struct wv_port_attr {
	int state, max_mtu, active_mtu, gid_tbl_len;
	uint32_t port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
	uint16_t pkey_tbl_len, lid, sm_lid;
	uint8_t lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply, active_width, active_speed, phys_state, link_layer, flags;
	uint16_t port_cap_flags2;
};

struct wv_qp_cap { uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data; };

struct wv_qp_init_attr {
	void *qp_context;
	struct wv_cq *send_cq, *recv_cq;
	struct wv_srq *srq;
	struct wv_qp_cap cap;
	int qp_type, sq_sig_all;
};

struct wv_global_route {
	uint64_t dgid[2];
	uint32_t flow_label;
	uint8_t sgid_index, hop_limit, traffic_class;
};

struct wv_ah_attr {
	struct wv_global_route grh;
	uint16_t dlid;
	uint8_t sl, src_path_bits, static_rate, is_global, port_num;
};

struct wv_qp_attr {
	int qp_state, cur_qp_state, path_mtu, path_mig_state;
	uint32_t qkey, rq_psn, sq_psn, dest_qp_num;
	unsigned qp_access_flags;
	struct wv_qp_cap cap;
	struct wv_ah_attr ah_attr, alt_ah_attr;
	uint16_t pkey_index, alt_pkey_index;
	uint8_t en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry,
		alt_port_num, alt_timeout;
	uint32_t rate_limit;
};

struct wv_srq_init_attr { void *srq_context; uint32_t max_wr, max_sge, srq_limit; };

struct wv_async_event { union { struct wv_qp *qp; int port_num; void *any; } element; int event_type; };

enum { WV_RC = 2, WV_MW_TYPE_2 = 2 };
enum { WV_MEM_WINDOW_TYPE_2A = 1 << 23, WV_MEM_WINDOW_TYPE_2B = 1 << 24 };
enum { WV_RESET, WV_INIT, WV_RTR, WV_RTS, WV_SQD, WV_SQE, WV_ERR };
enum {
	WV_STATE = 1 << 0, WV_ACCESS_FLAGS = 1 << 3, WV_PKEY_INDEX = 1 << 4, WV_PORT = 1 << 5, WV_AV = 1 << 7, WV_PATH_MTU = 1 << 8,
	WV_TIMEOUT = 1 << 9, WV_RETRY_CNT = 1 << 10, WV_RNR_RETRY = 1 << 11, WV_RQ_PSN = 1 << 12, WV_MAX_RD_ATOMIC = 1 << 13,
	WV_MIN_RNR_TIMER = 1 << 15, WV_SQ_PSN = 1 << 16, WV_MAX_DEST_RD_ATOMIC = 1 << 17, WV_DEST_QPN = 1 << 20,
};

#endif
