#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

/* Every function of libibverbs that is called by name. The others are reached through the context's table. */
#define VERBS(X) \
	X(struct wv_device **, get_device_list, (int *)) \
	X(void, free_device_list, (struct wv_device **)) \
	X(const char *, get_device_name, (struct wv_device *)) \
	X(struct wv_context *, open_device, (struct wv_device *)) \
	X(int, close_device, (struct wv_context *)) \
	X(int, query_device, (struct wv_context *, struct wv_device_attr *)) \
	X(int, query_port, (struct wv_context *, uint8_t, struct wv_port_attr *)) \
	X(int, get_async_event, (struct wv_context *, struct wv_async_event *)) \
	X(void, ack_async_event, (struct wv_async_event *)) \
	X(struct wv_pd *, alloc_pd, (struct wv_context *)) \
	X(int, dealloc_pd, (struct wv_pd *)) \
	X(struct wv_mr *, reg_mr, (struct wv_pd *, void *, size_t, int)) \
	X(int, dereg_mr, (struct wv_mr *)) \
	X(struct wv_channel *, create_comp_channel, (struct wv_context *)) \
	X(int, destroy_comp_channel, (struct wv_channel *)) \
	X(struct wv_cq *, create_cq, (struct wv_context *, int, void *, struct wv_channel *, int)) \
	X(int, destroy_cq, (struct wv_cq *)) \
	X(int, get_cq_event, (struct wv_channel *, struct wv_cq **, void **)) \
	X(void, ack_cq_events, (struct wv_cq *, unsigned)) \
	X(struct wv_qp *, create_qp, (struct wv_pd *, struct wv_qp_init_attr *)) \
	X(int, destroy_qp, (struct wv_qp *)) \
	X(int, query_qp, (struct wv_qp *, struct wv_qp_attr *, int, struct wv_qp_init_attr *)) \
	X(int, modify_qp, (struct wv_qp *, struct wv_qp_attr *, int)) \
	X(struct wv_srq *, create_srq, (struct wv_pd *, struct wv_srq_init_attr *)) \
	X(int, destroy_srq, (struct wv_srq *))

#define DECLARE(result, name, arguments) static result (*ibv_##name) arguments;
VERBS(DECLARE)

/* Older symbols of the same names have other layouts, so the version is asked for. */
#define RESOLVE(result, name, arguments) \
	if (!(ibv_##name = (result (*) arguments)symbol(library, "ibv_" #name))) \
		return "libibverbs.so.1 is too old: it has no ibv_" #name " of version IBVERBS_1.1";

/* What did not change in 1.1 has kept the version 1.0: the channels. */
static void *symbol(void *library, const char *name) {
	const char *version = strstr(name, "comp_channel") ? "IBVERBS_1.0" : "IBVERBS_1.1";
	return dlvsym(library, name, version);
}

const char *weft_load(void) {
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return dlerror();
	VERBS(RESOLVE)
	return NULL;
}

/* Some verbs return an errno, some -1 and set it. */
static int failure(int returned) { return returned >= 0 ? returned : errno ? errno : EIO; }

/* For verbs that return a pointer. */
static int missing(void *made) { return made ? 0 : errno ? errno : EIO; }

static void never_block(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

int weft_open(const char *name, struct wv_context **context) {
	int n = 0, failed = ENODEV;
	struct wv_device **list = ibv_get_device_list(&n);
	if (!list)
		return errno ? errno : ENODEV;
	for (int i = 0; i < n; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) != 0)
			continue;
		failed = missing(*context = ibv_open_device(list[i]));
		if (!failed)
			never_block((*context)->async_fd);
	}
	ibv_free_device_list(list);
	return failed;
}

int weft_close(struct wv_context *context) { return failure(ibv_close_device(context)); }

int weft_async_fd(struct wv_context *context) { return context->async_fd; }

int weft_query_device(struct wv_context *context, struct wv_device_attr *attr) {
	return failure(ibv_query_device(context, attr));
}

int weft_query_port(struct wv_context *context, uint8_t port, struct wv_port_attr *attr) {
	memset(attr, 0, sizeof *attr);
	return failure(ibv_query_port(context, port, attr));
}

/* CQ_ERR is 0; QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, COMM_EST, SQ_DRAINED, PATH_MIG, PATH_MIG_ERR follow; QP_LAST_WQE_REACHED is 16. */
static int is_about_pair(int type) { return (type >= 1 && type <= 7) || type == 16; }

/* CQ_ERR, SRQ_ERR, SRQ_LIMIT_REACHED and WQ_FATAL are about objects that are not named here. */
static int is_about_port(int type) { return type >= 9 && type <= 18 && type != 14 && type != 15 && type != 16; }

int weft_next_event(struct wv_context *context, int *type, uint32_t *whose) {
	struct wv_async_event event;
	if (ibv_get_async_event(context, &event))
		return errno ? errno : EIO;
	*type = event.event_type;
	*whose = 0;
	if (is_about_pair(*type))
		*whose = event.element.qp->qp_num;
	else if (is_about_port(*type))
		*whose = event.element.port_num;
	ibv_ack_async_event(&event);
	return 0;
}

int weft_alloc_domain(struct wv_context *context, struct wv_pd **domain) { return missing(*domain = ibv_alloc_pd(context)); }

int weft_free_domain(struct wv_pd *domain) { return failure(ibv_dealloc_pd(domain)); }

int weft_register(struct wv_pd *domain, void *address, size_t length, int access, struct wv_mr **memory) {
	return missing(*memory = ibv_reg_mr(domain, address, length, access));
}

int weft_deregister(struct wv_mr *memory) { return failure(ibv_dereg_mr(memory)); }

int weft_alloc_window(struct wv_pd *domain, struct wv_mw **window) {
	return missing(*window = domain->context->ops.alloc_mw(domain, WV_MW_TYPE_2));
}

int weft_free_window(struct wv_mw *window) { return failure(window->context->ops.dealloc_mw(window)); }

int weft_create_queue(struct wv_context *context, int depth, struct wv_cq **queue, struct wv_channel **channel) {
	if (!(*channel = ibv_create_comp_channel(context)))
		return missing(NULL);
	never_block((*channel)->fd);
	if (!(*queue = ibv_create_cq(context, depth, NULL, *channel, 0))) {
		int failed = missing(NULL);
		ibv_destroy_comp_channel(*channel);
		return failed;
	}
	return 0;
}

int weft_destroy_queue(struct wv_cq *queue, struct wv_channel *channel) {
	int failed = failure(ibv_destroy_cq(queue));
	return failed ? failed : failure(ibv_destroy_comp_channel(channel));
}

int weft_channel_fd(struct wv_channel *channel) { return channel->fd; }

int weft_arm(struct wv_cq *queue) { return failure(queue->context->ops.req_notify_cq(queue, 0)); }

int weft_take_notices(struct wv_channel *channel) {
	struct wv_cq *queue;
	void *unused;
	unsigned n = 0;
	while (ibv_get_cq_event(channel, &queue, &unused) == 0)
		ibv_ack_cq_events(queue, 1), n++;
	return n > 0 || errno == EAGAIN ? 0 : errno;
}

/* Coming here costs more than looking, so it looks several times. */
int weft_poll(uintptr_t queue, int n, uintptr_t into) {
	enum { LOOKS = 8 };
	struct wv_cq *q = (struct wv_cq *)queue;
	int found = 0;
	for (int i = 0; i < LOOKS && found == 0; i++)
		found = q->context->ops.poll_cq(q, n, (struct wv_wc *)into);
	return found;
}

int weft_create_pair(struct wv_pd *domain, struct wv_qp_init_attr *attr, struct wv_qp **pair) {
	attr->qp_type = WV_RC;
	return missing(*pair = ibv_create_qp(domain, attr));
}

int weft_destroy_pair(struct wv_qp *pair) { return failure(ibv_destroy_qp(pair)); }

uint32_t weft_pair_number(struct wv_qp *pair) { return pair->qp_num; }

int weft_pair_state(struct wv_qp *pair, int *state) {
	struct wv_qp_attr attr;
	struct wv_qp_init_attr init;
	int failed = failure(ibv_query_qp(pair, &attr, WV_STATE, &init));
	*state = attr.qp_state;
	return failed;
}

int weft_set_state(struct wv_qp *pair, int state) {
	struct wv_qp_attr attr = {.qp_state = state};
	return failure(ibv_modify_qp(pair, &attr, WV_STATE));
}

int weft_to_init(struct wv_qp *pair, uint8_t port, int access) { return weft_set_access(pair, WV_INIT, port, access); }

int weft_set_access(struct wv_qp *pair, int state, uint8_t port, int access) {
	struct wv_qp_attr attr = {.qp_state = state, .port_num = port, .qp_access_flags = access};
	int mask = WV_STATE | WV_ACCESS_FLAGS;
	if (state == WV_INIT)
		mask |= WV_PKEY_INDEX | WV_PORT;
	return failure(ibv_modify_qp(pair, &attr, mask));
}

static int to_rtr(struct wv_qp *pair, const struct weft_path *p) {
	struct wv_qp_attr attr = {
		.qp_state = WV_RTR, .path_mtu = p->mtu, .dest_qp_num = p->remote_qpn, .rq_psn = p->remote_psn,
		.max_dest_rd_atomic = p->reads, .min_rnr_timer = p->min_rnr_timer,
		.ah_attr = {.dlid = p->remote_lid, .sl = p->sl, .is_global = p->is_global, .port_num = p->port,
			.grh = {.dgid = {p->remote_gid[0], p->remote_gid[1]}, .sgid_index = p->gid_index,
				.hop_limit = p->hop_limit, .traffic_class = p->traffic_class}},
	};
	return failure(ibv_modify_qp(pair, &attr, WV_STATE | WV_AV | WV_PATH_MTU | WV_DEST_QPN | WV_RQ_PSN |
		WV_MAX_DEST_RD_ATOMIC | WV_MIN_RNR_TIMER));
}

static int to_rts(struct wv_qp *pair, const struct weft_path *p) {
	struct wv_qp_attr attr = {
		.qp_state = WV_RTS, .sq_psn = p->local_psn, .max_rd_atomic = p->reads, .timeout = p->timeout,
		.retry_cnt = p->retries, .rnr_retry = p->rnr_retries,
	};
	return failure(ibv_modify_qp(pair, &attr, WV_STATE | WV_SQ_PSN | WV_MAX_RD_ATOMIC | WV_TIMEOUT | WV_RETRY_CNT |
		WV_RNR_RETRY));
}

int weft_to_ready(struct wv_qp *pair, const struct weft_path *path) {
	int failed = to_rtr(pair, path);
	return failed ? failed : to_rts(pair, path);
}

int weft_create_shared(struct wv_pd *domain, uint32_t depth, uint32_t spans, struct wv_srq **shared) {
	struct wv_srq_init_attr attr = {.max_wr = depth, .max_sge = spans};
	return missing(*shared = ibv_create_srq(domain, &attr));
}

int weft_destroy_shared(struct wv_srq *shared) { return failure(ibv_destroy_srq(shared)); }

/* The elements of an array are linked to their successors for good; the list is cut behind its end for the call only. */
#define POST(name, op, kind, element) \
	int64_t name(uintptr_t object, uintptr_t first, int n) { \
		struct kind *to = (struct kind *)object; \
		struct element *list = (struct element *)first, *bad = NULL, *next; \
		if (n < 1) \
			return 0; \
		next = list[n - 1].next; \
		list[n - 1].next = NULL; \
		int failed = failure(to->context->ops.op(to, list, &bad)); \
		list[n - 1].next = next; \
		return failed ? (int64_t)(bad ? bad - list : 0) << 32 | failed : (int64_t)n << 32; \
	}

POST(weft_post_send, post_send, wv_qp, wv_send_wr)
POST(weft_post_receive, post_recv, wv_qp, wv_recv_wr)
POST(weft_post_shared, post_srq_recv, wv_srq, wv_recv_wr)

void weft_nothing(void) {}
