/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_HEADS_H
#define WF_OBJECTS_SRX_HEADS_H

#include <stdbool.h>
#include <rdma/providers/fi_peer.h>

struct wf_ep;

/*
 * Heads: empty tagged messages with CQ data that stand for a message whose payload
 * comes by other means. A layer that sends such messages sets struct wf_srx_port.heads
 * of the handles through which they may come. A head is matched like any message, so
 * the message that it stands for keeps its place in the order of messages. The lock of
 * the receive context is held in all functions.
 */
struct wf_srx_heads;
struct wf_srx_head_ops {
	/* The receive @entry got an empty message with CQ data @data from @src. True:
	 * the message is a head, and the callee ends the receive later, by
	 * wf_srx_end or wf_srx_fail of @ep, or frees the entry. False: it is a message
	 * like any other. The lock of @ep may be held. */
	bool (*matched)(struct wf_srx_heads *heads, struct wf_ep *ep,
		struct fi_peer_rx_entry *entry, uint64_t data, fi_addr_t src);
	/* An application peeks at the message that @view describes. 0: if it is a head,
	 * @view describes now the message that it stands for. -FI_EAGAIN: it is a head,
	 * of whose message nothing is known yet. */
	int (*describe)(struct wf_srx_heads *heads, struct fi_peer_rx_entry *view);
	/* A message with CQ data @data, which may be a head, was discarded by the
	 * application. */
	void (*discarded)(struct wf_srx_heads *heads, uint64_t data);
};
struct wf_srx_heads {
	const struct wf_srx_head_ops *ops;
};

#endif
