/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One send and one receive at a time, waited for by polling: this program measures
 * latency, and sleeping would be part of it. Every 64 polls it reads the clock, and
 * less often it checks the control connection, so that a lost message or a dead peer
 * ends every wait.
 */
#include "transfer.h"
#include "../clock.h"
#include "control.h"
#include "message.h"

#include <sched.h>
#include <rdma/fi_tagged.h>

enum {
	TAG = 1234,       /* what the other fi_pingpong programs use */
	CLOCK_EVERY = 64, /* polls between two readings of the clock */
	PEER_EVERY = 64,  /* readings of the clock between two checks of the peer */
	YIELD_AFTER =
		20000, /* polls; from then on others may need the processor more */
	SEND_TIMEOUT_MS = 60000,
};

/* A wait in progress. */
struct patience {
	enum pp_wait_for what;
	unsigned int polls;
	uint64_t deadline_ns;
};

static struct patience transfer_patience_start(enum pp_wait_for what, int timeout_ms)
{
	return (struct patience){
		.what = what,
		.deadline_ns = tool_after_ms(timeout_ms),
	};
}

static bool transfer_talk_ends(enum pp_wait_for what)
{
	return what == PP_FOR_MESSAGE_OR_TALK || what == PP_FOR_TALK_OR_MESSAGE;
}

static int transfer_peer_state(struct pp_link *link, enum pp_wait_for what)
{
	if (what == PP_FOR_LAST_MESSAGE)
		return PP_ARRIVED;
	switch (pp_control_state(link->control)) {
	case PP_CONTROL_TALKS:
		return transfer_talk_ends(what) ? PP_MOVED_ON : PP_ARRIVED;
	case PP_CONTROL_GONE:
		return pp_fail("the peer left", -FI_ECONNRESET);
	default:
		return PP_ARRIVED;
	}
}

/* Counts a poll without a result. PP_ARRIVED: poll again. */
static int transfer_patience_spend(struct patience *p, struct pp_link *link)
{
	/* A check is a system call, so it is rare while a message is measured. */
	unsigned int peer_every = p->what == PP_FOR_TALK_OR_MESSAGE ? 1 : PEER_EVERY;

	if (++p->polls % CLOCK_EVERY)
		return PP_ARRIVED;
	if (p->polls > YIELD_AFTER)
		sched_yield();
	if (tool_now_ns() > p->deadline_ns)
		return PP_TIMED_OUT;
	return p->polls / CLOCK_EVERY % peer_every ? PP_ARRIVED
						   : transfer_peer_state(link, p->what);
}

static int transfer_queue_error(struct fid_cq *cq)
{
	struct fi_cq_err_entry entry = { 0 };
	char text[128] = "";
	ssize_t n;

	n = fi_cq_readerr(cq, &entry, 0);
	if (n < 0)
		return pp_fail("fi_cq_readerr", (int)n);
	pp_say("transfer failed: %s: %s", fi_strerror(entry.err),
		fi_cq_strerror(
			cq, entry.prov_errno, entry.err_data, text, sizeof(text)));
	return entry.err > 0 ? -entry.err : -FI_EIO;
}

/* Returns 1 and fills @entry, 0 if there is nothing, or a negative error. */
static int transfer_queue_read(struct fid_cq *cq, struct fi_cq_msg_entry *entry)
{
	ssize_t n = fi_cq_read(cq, entry, 1);

	if (n > 0)
		return 1;
	if (n == -FI_EAGAIN || !n)
		return 0;
	return n == -FI_EAVAIL ? transfer_queue_error(cq)
			       : pp_fail("fi_cq_read", (int)n);
}

/* Reading a queue is also what moves data, for providers that have no thread. */
static int transfer_poll_queues(struct pp_link *link)
{
	struct fi_cq_msg_entry entry;
	int ret;

	ret = transfer_queue_read(link->rx_cq, &entry);
	if (ret < 0)
		return ret;
	if (ret) {
		link->rx_done = true;
		link->rx_len = entry.len > link->prefix ? entry.len - link->prefix : 0;
	}
	if (!link->tx_busy)
		return 0;
	ret = transfer_queue_read(link->tx_cq, &entry);
	if (ret > 0)
		link->tx_busy = false;
	return ret < 0 ? ret : 0;
}

int pp_post_recv(struct pp_link *link)
{
	struct patience patience =
		transfer_patience_start(PP_FOR_MESSAGE, SEND_TIMEOUT_MS);
	ssize_t ret;

	link->rx_done = false;
	for (;;) {
		if (link->options->tagged)
			ret = fi_trecv(link->ep, link->rx_buf, link->buf_len,
				link->rx_desc, FI_ADDR_UNSPEC, TAG, 0,
				&link->rx_context);
		else
			ret = fi_recv(link->ep, link->rx_buf, link->buf_len,
				link->rx_desc, FI_ADDR_UNSPEC, &link->rx_context);
		if (!ret)
			return 0;
		if (ret != -FI_EAGAIN)
			return pp_fail("fi_recv", (int)ret);
		ret = transfer_poll_queues(link);
		if (!ret)
			ret = transfer_patience_spend(&patience, link);
		if (ret)
			return ret == PP_TIMED_OUT ? pp_fail("fi_recv", -FI_EAGAIN)
						   : (int)ret;
	}
}

/* One attempt to hand the buffer to the provider. */
static ssize_t transfer_start_send(struct pp_link *link, size_t len)
{
	size_t total = link->prefix + len;
	bool tagged = link->options->tagged;
	ssize_t ret;

	if (total <= link->info->tx_attr->inject_size)
		return tagged ? fi_tinject(
					link->ep, link->tx_buf, total, link->peer, TAG)
			      : fi_inject(link->ep, link->tx_buf, total, link->peer);
	ret = tagged ? fi_tsend(link->ep, link->tx_buf, total, link->tx_desc,
			       link->peer, TAG, &link->tx_context)
		     : fi_send(link->ep, link->tx_buf, total, link->tx_desc, link->peer,
			       &link->tx_context);
	link->tx_busy = !ret;
	return ret;
}

static ssize_t transfer_start_send_last(struct pp_link *link, size_t len)
{
	struct iovec iov = {
		.iov_base = link->tx_buf,
		.iov_len = link->prefix + len,
	};
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &link->tx_desc,
		.iov_count = 1,
		.addr = link->peer,
		.context = &link->tx_context,
	};
	struct fi_msg_tagged tagged = {
		.msg_iov = &iov,
		.desc = &link->tx_desc,
		.iov_count = 1,
		.addr = link->peer,
		.tag = TAG,
		.context = &link->tx_context,
	};
	uint64_t flags = FI_TRANSMIT_COMPLETE | FI_COMPLETION;
	ssize_t ret;

	ret = link->options->tagged ? fi_tsendmsg(link->ep, &tagged, flags)
				    : fi_sendmsg(link->ep, &msg, flags);
	link->tx_busy = !ret;
	return ret;
}

static int transfer_send_with(
	struct pp_link *link, size_t len, ssize_t (*start)(struct pp_link *, size_t))
{
	struct patience patience =
		transfer_patience_start(PP_FOR_MESSAGE, SEND_TIMEOUT_MS);
	ssize_t ret;

	for (;;) {
		ret = start(link, len);
		if (!ret)
			return 0;
		if (ret != -FI_EAGAIN)
			return pp_fail("fi_send", (int)ret);
		ret = transfer_poll_queues(link);
		if (!ret)
			ret = transfer_patience_spend(&patience, link);
		if (ret)
			return ret == PP_TIMED_OUT ? pp_fail("fi_send", -FI_ETIMEDOUT)
						   : (int)ret;
	}
}

int pp_send(struct pp_link *link, size_t len)
{
	return transfer_send_with(link, len, transfer_start_send);
}

int pp_send_last(struct pp_link *link, size_t len)
{
	return transfer_send_with(link, len, transfer_start_send_last);
}

int pp_wait_sent(struct pp_link *link)
{
	struct patience patience =
		transfer_patience_start(PP_FOR_MESSAGE, SEND_TIMEOUT_MS);
	int ret;

	while (link->tx_busy) {
		ret = transfer_poll_queues(link);
		if (!ret && link->tx_busy)
			ret = transfer_patience_spend(&patience, link);
		if (ret)
			return ret == PP_TIMED_OUT
				       ? pp_fail("waiting for a send", -FI_ETIMEDOUT)
				       : ret;
	}
	return 0;
}

int pp_wait_recv(struct pp_link *link, enum pp_wait_for what, int timeout_ms)
{
	struct patience patience = transfer_patience_start(what, timeout_ms);
	int ret;

	while (!link->rx_done) {
		ret = transfer_poll_queues(link);
		if (!ret && !link->rx_done)
			ret = transfer_patience_spend(&patience, link);
		if (ret)
			return ret;
	}
	return PP_ARRIVED;
}
