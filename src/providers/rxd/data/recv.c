/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/rxd/data/data.h"
#include "providers/rxd/param.h"
#include "providers/rxd/peer.h"
#include "sys/compiler.h"

/* Messages of peers, which are matched when their first packet has arrived. A message
 * without a receive is saved, with the packets that are still to arrive. */

enum {
	/* State of an unexpected message some of whose packets are missing. */
	ARRIVING = 1,
	/* Payload memory of a longer message grows as its packets arrive. */
	GROW_MIN = 64 << 10,
};

static_assert((size_t)GROW_MIN > WF_SRX_GROW_MIN, "memory that can grow");

static struct rxd_peer *recv_peer_of(struct wf_unexp_conn *unexp)
{
	return wf_container_of(unexp, struct rxd_peer, unexp);
}

static uint64_t data_flag(const struct rxd_op_head *head)
{
	return head->has_data ? FI_REMOTE_CQ_DATA : 0;
}

static void recv_complete(struct rxd_peer *peer, struct fi_peer_rx_entry *entry,
	const struct rxd_op_head *head)
{
	struct rxd_ep *ep = peer->ep;
	struct wf_ep *wf = wf_recv_ep(&ep->ep, entry);
	fi_addr_t source = rxd_peer_source(peer);

	if (wf_unlikely(source == FI_ADDR_NOTAVAIL && ep->unexp.wants.source_err &&
			rxd_peer_index(peer) == FI_ADDR_NOTAVAIL))
		wf_recv_done_unknown(wf, entry, data_flag(head), head->size, head->data,
			peer->name, wf_av_addrlen(ep->ep.av));
	else
		wf_recv_done(
			wf, entry, data_flag(head), head->size, head->data, source);
}

/* The fast path of a message of one packet. */
static bool rxd_recv_deliver(struct rxd_peer *peer, const struct rxd_op_head *head,
	const uint8_t *data, size_t len)
{
	struct rxd_ep *ep = peer->ep;
	struct wf_srx_arrival msg = {
		.buf = data,
		.len = len,
		.tag = head->type == RXD_TAGGED ? head->tag : 0,
		.flags = data_flag(head),
		.data = head->has_data ? head->data : 0,
		.addr = rxd_peer_match_addr(peer),
		.src = FI_ADDR_UNSPEC,
	};
	fi_addr_t index;

	if (ep->unexp.wants.source) {
		index = rxd_peer_index(peer);
		if (index == FI_ADDR_NOTAVAIL)
			return false;
		msg.src = wf_ep_source(&ep->ep, index);
	}
	return wf_ep_deliver(
		&ep->ep, head->type == RXD_TAGGED ? FI_TAGGED : FI_MSG, &msg);
}

static int rxd_recv_match(struct rxd_peer *peer, const struct rxd_op_head *head,
	struct fi_peer_rx_entry **ret_entry)
{
	struct fid_peer_srx *srx = peer->ep->ep.srx;
	bool tagged = head->type == RXD_TAGGED;
	struct fi_peer_match_attr attr = {
		.addr = rxd_peer_match_addr(peer),
		.msg_size = head->size,
		.tag = tagged ? head->tag : 0,
	};

	return tagged ? wf_srx_get_tag(srx, &attr, ret_entry)
		      : wf_srx_get_msg(srx, &attr, ret_entry);
}

/* May unexpected messages of @peer take @more bytes, within the limit? A peer that is
 * not in the address vector gets as much as is left then, so that many of them leave
 * memory for others. */
static bool recv_has_space(const struct rxd_peer *peer, uint64_t more)
{
	struct rxd_ep *ep = peer->ep;
	size_t limit = rxd_params.unexpected_size;
	size_t left = limit - WF_MIN(limit, ep->unexp.bytes);

	if (more <= left && (!peer->strange || peer->unexp.bytes + more <= left - more))
		return true;
	if (!rxd_may_warn(ep))
		return false;
	rxd_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"a message without a receive has to wait: %zu bytes of %zu are used "
		"(FI_OFI_RXD_UNEXPECTED_SIZE)\n",
		ep->unexp.bytes, limit);
	return false;
}

/* The first bytes of payload memory of an unexpected message, of which @len bytes have
 * arrived: what a peer only announces takes no memory. A context of another library
 * cannot give more later. */
static uint64_t recv_first_capacity(
	const struct fid_peer_srx *srx, const struct rxd_op_head *head, size_t len)
{
	if (head->size <= GROW_MIN || !wf_srx_is_own(srx))
		return head->size;
	return WF_MAX(len, (size_t)GROW_MIN);
}

/* Save the message of @head, @len bytes of which have arrived, in @rx. False: there is
 * no memory; @entry is freed. */
static bool recv_save(struct rxd_peer *peer, const struct rxd_op_head *head,
	struct fi_peer_rx_entry *entry, size_t len, struct rxd_rx *rx)
{
	uint64_t capacity = recv_first_capacity(entry->srx, head, len);

	if (head->has_data) {
		entry->cq_data = head->data;
		entry->flags |= FI_REMOTE_CQ_DATA;
	}
	rx->srx = entry->srx;
	rx->capacity = capacity;
	/* A context of another library does not keep lengths above 4 GiB. */
	if (recv_has_space(peer, wf_unexp_cost(capacity)) &&
		(capacity <= UINT32_MAX || wf_srx_is_own(entry->srx)))
		rx->unexp = wf_unexp_save(&peer->ep->unexp, &peer->unexp, &peer->remote,
			head->type == RXD_TAGGED ? FI_TAGGED : FI_MSG, entry, capacity);
	if (rx->unexp)
		rx->unexp->note = ARRIVING;
	else
		wf_srx_free_entry(entry);
	return rx->unexp;
}

bool rxd_msg_reserve(struct rxd_peer *peer, size_t len)
{
	struct rxd_rx *rx = &peer->rx;
	uint64_t need = rx->done + len, wanted;

	if (wf_likely(!rx->unexp || need <= rx->capacity))
		return true;
	wanted = WF_MIN(rx->head.size, WF_MAX(need, 2 * (uint64_t)rx->capacity));
	if (!recv_has_space(peer, wanted - rx->capacity) ||
		!wf_unexp_grow(&peer->ep->unexp, &peer->unexp, rx->srx, rx->unexp,
			rx->capacity, wanted))
		return false;
	rx->capacity = wanted;
	return true;
}

int64_t rxd_receive_msg(struct rxd_peer *peer, const struct rxd_op_head *head,
	const uint8_t *data, size_t len)
{
	struct rxd_rx rx = { .active = true, .head = *head };
	int ret;

	if (wf_unlikely(!peer->ep->ep.srx))
		return -FI_EOPNOTSUPP;
	if (wf_likely(len == head->size) && rxd_recv_deliver(peer, head, data, len))
		return 1;
	ret = rxd_recv_match(peer, head, &rx.entry);
	if (ret == -FI_ENOENT) {
		struct fi_peer_rx_entry *entry = rx.entry;

		rx.entry = NULL;
		if (!recv_save(peer, head, entry, len, &rx))
			return 0;
	}
	if (!rx.entry && !rx.unexp)
		return 0;
	peer->rx = rx;
	rxd_rx_append(peer, data, len);
	return 1;
}

void rxd_msg_append(struct rxd_peer *peer, const uint8_t *data, size_t len)
{
	struct rxd_rx *rx = &peer->rx;

	if (rx->entry)
		(void)wf_iov_scatter_at(
			rx->entry->iov, rx->entry->count, rx->done, data, len);
	else if (rx->unexp && len)
		memcpy((uint8_t *)wf_srx_payload(rx->unexp) + rx->done, data, len);
}

void rxd_msg_finish(struct rxd_peer *peer)
{
	struct rxd_rx *rx = &peer->rx;

	if (rx->entry)
		recv_complete(peer, rx->entry, &rx->head);
	else if (rx->unexp)
		rx->unexp->note = WF_UNEXP_WHOLE;
	rx->entry = NULL;
	rx->unexp = NULL;
}

/* A receive matched the message whose packets are arriving: copy the packets that have
 * arrived to its buffers. */
static int recv_start(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry)
{
	struct rxd_rx *rx = &recv_peer_of(unexp)->rx;

	(void)wf_iov_scatter(entry->iov, entry->count, wf_srx_payload(saved), rx->done);
	rx->unexp = NULL;
	rx->entry = entry;
	return 0;
}

static void recv_discard(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved)
{
	(void)saved;
	recv_peer_of(unexp)->rx.unexp = NULL;
}

static size_t recv_size_of(const struct wf_srx_unexpected *saved)
{
	return wf_srx_payload_size(saved);
}

static void recv_flush(struct wf_unexp_conn *unexp)
{
	(void)unexp;
}

static fi_addr_t rxd_recv_index_of(struct wf_ep *ep, struct wf_remote *remote)
{
	(void)ep;
	return rxd_peer_index(rxd_peer_of(remote));
}

static const void *recv_name_of(const struct wf_remote *remote, size_t *ret_len)
{
	const struct rxd_peer *peer = rxd_peer_of(remote);

	*ret_len = wf_av_addrlen(peer->ep->ep.av);
	return peer->name;
}

const struct wf_unexp_ops rxd_unexp_ops = {
	.index = rxd_recv_index_of,
	.name = recv_name_of,
	.size = recv_size_of,
	.matched = NULL, /* peers do not ask for notes of matches */
	.start = recv_start,
	.discard = recv_discard,
	.flush = recv_flush,
};
