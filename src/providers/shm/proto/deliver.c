/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/deliver.h"

#include <string.h>

void shm_deliver_done(struct shm_conn *conn, struct fi_peer_rx_entry *entry,
	uint8_t flags, uint64_t len, uint64_t data)
{
	uint64_t comp_flags = flags & SHM_FLAG_DATA ? FI_REMOTE_CQ_DATA : 0;
	fi_addr_t source = shm_conn_source(conn);
	struct shm_ep *ep = conn->ep;

	if (wf_unlikely(source == FI_ADDR_NOTAVAIL && ep->unexp.wants.source_err &&
			wf_recv_is_unknown(&ep->ep, shm_conn_index(conn))))
		wf_recv_done_unknown(&ep->ep, entry, comp_flags, len, data,
			shm_conn_name(conn), strlen(shm_conn_name(conn)) + 1);
	else
		wf_recv_done(&ep->ep, entry, comp_flags, len, data, source);
}

void shm_deliver_end(
	struct shm_conn *conn, struct fi_peer_rx_entry *entry, int err, bool quiet)
{
	if (quiet)
		wf_srx_free_entry(entry);
	else
		wf_srx_fail(
			&conn->ep->ep, entry, 0, 0, 0, 0, shm_conn_source(conn), err);
}
