/* SPDX-License-Identifier: BSD-2-Clause */
#include "message.h"

#include "objects/conn/recv.h"

static fi_addr_t message_index_of(const struct loop_message *msg)
{
	return wf_av_index(msg->ep->av, msg->source, msg->source_len);
}

/* Copy the message into the buffers of @entry and complete the receive. */
static void message_receive(struct loop_message *msg, struct fi_peer_rx_entry *entry)
{
	struct wf_recv_wants wants = wf_recv_wants_of(msg->ep);
	fi_addr_t index = wants.source ? message_index_of(msg) : FI_ADDR_NOTAVAIL;

	(void)wf_iov_scatter(entry->iov, entry->count, msg->buf, msg->len);
	if (wants.source_err && index == FI_ADDR_NOTAVAIL)
		wf_recv_done_unknown(msg->ep, entry, msg->flags, msg->len, msg->data,
			msg->source, msg->source_len);
	else
		wf_recv_done(msg->ep, entry, msg->flags, msg->len, msg->data,
			wf_recv_source(msg->ep, index));
	msg->done(msg, 0);
}

/* No posted receive matches: keep the message until one does. */
static void message_keep(struct loop_message *msg, struct fi_peer_rx_entry *entry)
{
	entry->flags |= msg->flags;
	entry->cq_data = msg->data;
	msg->origin = (struct wf_srx_origin){ .fid = entry->srx };
	if (wf_srx_save(msg->type, entry, &msg->origin, 0))
		return;
	wf_srx_free_entry(entry);
	msg->done(msg, FI_ENOMEM);
}

void loop_message_receive(struct loop_message *msg)
{
	struct fid_peer_srx *srx = msg->ep->srx;
	struct fi_peer_match_attr attr = {
		.addr = wf_ep_srx_source(msg->ep, message_index_of(msg)),
		.msg_size = msg->len,
		.tag = msg->type == FI_TAGGED ? msg->tag : 0,
	};
	struct fi_peer_rx_entry *entry;
	int ret;

	if (!srx)
		ret = -FI_EOPNOTSUPP;
	else if (msg->type == FI_TAGGED)
		ret = wf_srx_get_tag(srx, &attr, &entry);
	else
		ret = wf_srx_get_msg(srx, &attr, &entry);
	if (!ret)
		message_receive(msg, entry);
	else if (ret == -FI_ENOENT)
		message_keep(msg, entry);
	else
		msg->done(msg, -ret);
}

static struct loop_message *message_of(const struct fi_peer_rx_entry *entry)
{
	return wf_container_of(wf_srx_origin(entry), struct loop_message, origin);
}

static int message_start(struct fi_peer_rx_entry *entry)
{
	struct loop_message *msg = message_of(entry);

	wf_srx_release(&msg->origin, entry->peer_context);
	message_receive(msg, entry);
	return 0;
}

static int message_discard(struct fi_peer_rx_entry *entry)
{
	struct loop_message *msg = message_of(entry);

	wf_srx_release(&msg->origin, entry->peer_context);
	wf_srx_free_entry(entry);
	msg->done(msg, 0);
	return 0;
}

struct fi_ops_srx_peer loop_message_ops =
	WF_SRX_PEER_OPS(message_start, message_discard);

fi_addr_t loop_message_addr(struct fi_peer_rx_entry *entry)
{
	const struct loop_message *msg = message_of(entry);

	return wf_ep_srx_source(msg->ep, message_index_of(msg));
}
