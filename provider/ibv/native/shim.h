/* One plain function for each verb that Weft uses. Those that can fail return 0 or an errno, unless they say otherwise. */
#ifndef WEFT_IBV_SHIM_H
#define WEFT_IBV_SHIM_H

#include "abi.h"

/* How one end reaches its peer. */
struct weft_path {
	uint64_t remote_gid[2];
	uint32_t remote_qpn, remote_psn, local_psn;
	uint16_t remote_lid;
	uint8_t port, is_global, gid_index, hop_limit, traffic_class, sl, mtu, reads, timeout, retries, rnr_retries, min_rnr_timer;
};

/* Returns what is missing, or NULL. */
const char *weft_load(void);

int weft_open(const char *name, struct wv_context **context);
int weft_close(struct wv_context *context);
int weft_async_fd(struct wv_context *context);
int weft_query_device(struct wv_context *context, struct wv_device_attr *attr);
int weft_query_port(struct wv_context *context, uint8_t port, struct wv_port_attr *attr);
/* Never blocks: EAGAIN means that there is no event. Whose it is, is a queue pair's number or a port's. */
int weft_next_event(struct wv_context *context, int *type, uint32_t *whose);

int weft_alloc_domain(struct wv_context *context, struct wv_pd **domain);
int weft_free_domain(struct wv_pd *domain);
int weft_register(struct wv_pd *domain, void *address, size_t length, int access, struct wv_mr **memory);
int weft_deregister(struct wv_mr *memory);
int weft_alloc_window(struct wv_pd *domain, struct wv_mw **window);
int weft_free_window(struct wv_mw *window);

int weft_create_queue(struct wv_context *context, int depth, struct wv_cq **queue, struct wv_channel **channel);
int weft_destroy_queue(struct wv_cq *queue, struct wv_channel *channel);
int weft_channel_fd(struct wv_channel *channel);
int weft_arm(struct wv_cq *queue);
/* Takes the events of a channel, without blocking. */
int weft_take_notices(struct wv_channel *channel);
/* Returns how many, or a negative errno. Here and where lists are posted objects come as numbers: Go looks at every pointer that it gives to C,
 * which costs a fifth of such a call, and these point to C memory. */
int weft_poll(uintptr_t queue, int n, uintptr_t into);

int weft_create_pair(struct wv_pd *domain, struct wv_qp_init_attr *attr, struct wv_qp **pair);
int weft_destroy_pair(struct wv_qp *pair);
uint32_t weft_pair_number(struct wv_qp *pair);
int weft_pair_state(struct wv_qp *pair, int *state);
int weft_set_state(struct wv_qp *pair, int state);
int weft_to_init(struct wv_qp *pair, uint8_t port, int access);
int weft_to_ready(struct wv_qp *pair, const struct weft_path *path);
int weft_set_access(struct wv_qp *pair, int state, uint8_t port, int access);

int weft_create_shared(struct wv_pd *domain, uint32_t depth, uint32_t spans, struct wv_srq **shared);
int weft_destroy_shared(struct wv_srq *shared);

/* These post the first n of an array, and return how many were taken in the upper half, an errno in the lower. */
int64_t weft_post_send(uintptr_t pair, uintptr_t list, int n);
int64_t weft_post_receive(uintptr_t pair, uintptr_t list, int n);
int64_t weft_post_shared(uintptr_t shared, uintptr_t list, int n);

/* Does nothing: for measuring what a call costs. */
void weft_nothing(void);

#endif
