/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/conn/recv.h"

void wf_recv_done_unknown(struct wf_ep *ep, struct fi_peer_rx_entry *entry,
	uint64_t flags, size_t len, uint64_t data, const void *name, size_t name_len)
{
	if (len > wf_iov_len(entry->iov, entry->count))
		wf_recv_done(ep, entry, flags, len, data, FI_ADDR_NOTAVAIL);
	else
		wf_srx_unknown(ep, entry, flags, len, data, name, name_len);
}
