/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_DATA_FAST_H
#define WF_VERBS_DATA_FAST_H

#include <infiniband/verbs.h>
#include <rdma/fi_endpoint.h>

struct wf_ep;

/*
 * The fast path of a connected endpoint: fi_send, fi_inject and fi_recv of one buffer.
 * The requests stand ready: a call fills in the buffer and the number. Guarded by
 * ep.lock, but for @general, which is constant.
 */
struct verbs_fast {
	struct ibv_send_wr send;
	struct ibv_sge send_buf;
	struct ibv_recv_wr recv;
	struct ibv_sge recv_buf;
	/* The calls that do everything: for what the fast path leaves to them. */
	struct fi_ops_msg general;
};

/* wf_xfer_ops.tables_finished: put the calls of the fast path in. */
void verbs_fast_finish(struct wf_ep *ep);

#endif
