/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objects/progress/progress.h"
#include "providers/udp/burst.h"
#include "sys/iov.h"

/*
 * Messages with FI_MORE, by which the application announces that others follow.
 * Messages to one address are copied here and leave as trains (batch.c), which takes a
 * fraction of the time of one system call each. The gathered messages leave, and
 * complete, before a message that cannot join their train, together with a message
 * without FI_MORE, and in each progress call.
 *
 * Messages are gathered only under manual progress, where the application makes
 * progress calls, so that no message waits for a thread to be woken; and not while a
 * thread sleeps on the endpoint, because it would not send them.
 */
enum {
	BURST_MSGS = 64, /* the datagrams of one train */
	/* Longest message in bytes: what one Ethernet frame holds over IPv6. A longer
	 * message would be sent as IP fragments, which a train may not have. */
	MSG_BYTES_MAX = 1500 - 40 - 8,
};

struct gathered_msg {
	void *context;
	uint64_t op_flags; /* flags of the operation */
	struct iovec iov;  /* the copy, in udp_burst.bytes */
};

struct udp_burst {
	/* Indices: the messages from first to count - 1 wait. */
	unsigned int first, count;
	size_t used;          /* bytes of @bytes in use */
	union wf_sockaddr to; /* destination of all messages */
	struct gathered_msg msgs[BURST_MSGS];
	uint8_t bytes[BURST_MSGS * MSG_BYTES_MAX];
};

static bool burst_has_msgs(const struct udp_ep *ep)
{
	return atomic_load_explicit(&ep->gathered, memory_order_relaxed);
}

/* Complete the messages before @end; with the error @err if it is not 0. */
static void burst_report(struct udp_ep *ep, unsigned int end, int err)
{
	struct udp_burst *burst = ep->out;

	for (; burst->first < end; burst->first++) {
		const struct gathered_msg *msg = &burst->msgs[burst->first];

		if (err)
			wf_ep_tx_err(&ep->ep, WF_CNTR_SEND, msg->context, msg->op_flags,
				FI_SEND | FI_MSG, 0, err);
		else
			wf_ep_tx_done(&ep->ep, WF_CNTR_SEND, msg->context,
				msg->op_flags, FI_SEND | FI_MSG, msg->iov.iov_len);
	}
}

/* Send the next train, or the next message alone. False: the socket is full. */
static bool burst_send_next(struct udp_ep *ep)
{
	struct udp_burst *burst = ep->out;
	struct wf_datagram datagrams[BURST_MSGS];
	size_t count = burst->count - burst->first;
	ssize_t taken;
	int err;

	for (size_t i = 0; i < count; i++) {
		const struct iovec *iov = &burst->msgs[burst->first + i].iov;

		datagrams[i] = (struct wf_datagram){ iov, 1, iov->iov_len };
	}
	taken = udp_send_train(ep, &burst->to, datagrams, count);
	if (taken >= 0) {
		burst_report(ep, burst->first + (unsigned int)taken, 0);
		return taken > 0;
	}
	err = udp_send_pieces(ep, &burst->to, &burst->msgs[burst->first].iov, 1, 0) < 0
		      ? errno
		      : 0;
	if (udp_is_full(err))
		return false;
	burst_report(ep, burst->first + 1, err);
	return true;
}

bool udp_burst_flush(struct udp_ep *ep)
{
	struct udp_burst *burst = ep->out;

	if (wf_likely(!burst_has_msgs(ep)))
		return true;
	while (burst->first < burst->count)
		if (!burst_send_next(ep))
			return false;
	burst->first = burst->count = 0;
	burst->used = 0;
	atomic_store_explicit(&ep->gathered, false, memory_order_relaxed);
	return true;
}

/* May a message wait for the next one? */
static bool burst_may_gather(struct udp_ep *ep)
{
	if (ep->ep.domain->progress == FI_PROGRESS_AUTO || wf_ep_is_armed(&ep->ep))
		return false;
	if (!ep->out)
		ep->out = calloc(1, sizeof(*ep->out));
	return ep->out;
}

/* Can the message be added to the gathered ones? */
static bool burst_fits(const struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	const struct udp_burst *burst = ep->out;

	if (!op->len || op->len > MSG_BYTES_MAX || burst->count == BURST_MSGS)
		return false;
	return !burst->count || !memcmp(&burst->to, to, ep->addr_len);
}

static void burst_add(struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	struct udp_burst *burst = ep->out;
	struct gathered_msg *msg = &burst->msgs[burst->count];
	uint8_t *bytes = burst->bytes + burst->used;

	if (!burst->count)
		memcpy(&burst->to, to, ep->addr_len);
	burst->count++;
	burst->used += wf_iov_gather(bytes, op->iov, op->iov_count);
	*msg = (struct gathered_msg){ op->context, op->flags, { bytes, op->len } };
	atomic_store_explicit(&ep->gathered, true, memory_order_relaxed);
}

static ssize_t burst_send_locked(
	struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	bool more = op->flags & FI_MORE && burst_may_gather(ep);

	if (!more && !burst_has_msgs(ep))
		return udp_send_now(ep, op, to);
	if (!burst_fits(ep, op, to)) {
		if (!udp_burst_flush(ep))
			return -FI_EAGAIN;
		if (!more || !burst_fits(ep, op, to))
			return udp_send_now(ep, op, to);
	}
	burst_add(ep, op, to);
	if (more)
		wf_progress_wake(&ep->ep.progress);
	else
		(void)udp_burst_flush(ep);
	return 0;
}

ssize_t udp_burst_send(struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	ssize_t ret;

	wf_lock(&ep->ep.lock);
	ret = burst_send_locked(ep, op, to);
	wf_unlock(&ep->ep.lock);
	return ret;
}

bool udp_flushed(struct wf_ep *wf)
{
	return !burst_has_msgs(udp_ep_of(wf));
}
