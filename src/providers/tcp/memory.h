/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_MEMORY_H
#define WF_TCP_MEMORY_H

#include "objects/endpoint/life/target.h"
#include "providers/tcp/conn/conn.h"

/* Access to the registered memory of the segments in a peer's record. Results are those
 * of objects/region: 0 or a negative fi_errno. */

static inline int tcp_mr_check(
	struct tcp_ep *ep, const struct tcp_record *rec, uint64_t access)
{
	return wf_target_check(wf_ep_mr_map(&ep->ep), rec->seg, rec->seg_count, access);
}

/* If this returns 0, the lock of the region map is held until tcp_mr_release. */
static inline int tcp_mr_pieces(struct tcp_ep *ep, const struct tcp_record *rec,
	uint64_t offset, uint64_t access, struct iovec *iov, size_t max,
	size_t *ret_count)
{
	return wf_target_pieces(wf_ep_mr_map(&ep->ep), rec->seg, rec->seg_count, offset,
		access, iov, max, ret_count);
}

static inline void tcp_mr_release(struct tcp_ep *ep)
{
	wf_target_release(wf_ep_mr_map(&ep->ep));
}

/* access.c: a peer's access has ended: update counters and write remote CQ data. */
void tcp_mr_done(struct tcp_conn *conn, const struct tcp_record *rec, uint64_t flags,
	size_t len);

#endif
