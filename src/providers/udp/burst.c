/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objects/progress/progress.h"
#include "providers/udp/burst.h"
#include "sys/iov.h"

/*
 * Messages behind which the application announces others (FI_MORE): those to one
 * address are copied here and leave as trains (batch.c), which takes a fraction of the
 * time of one system call each. They leave, and complete, when a message comes without
 * FI_MORE, or one that cannot be in their train, and in each progress call.
 *
 * Only under manual progress: the application makes calls then, so none of them waits
 * for a thread to be woken. Nor is anything gathered while a thread sleeps, which would
 * not send it.
 */
enum {
	CARS = 64, /* as many as are in one train */
	/* Longest message: what one Ethernet frame holds over IPv6. Longer ones are IP
	 * fragments, which no train may have. */
	CAR_BYTES = 1500 - 40 - 8,
};

struct car {
	void *context;
	uint64_t op_flags;
	struct iovec iov;
};

struct udp_burst {
	unsigned int first, count; /* cars that wait: first to count - 1 */
	size_t used;               /* of bytes */
	union wf_sockaddr to;
	struct car cars[CARS];
	uint8_t bytes[CARS * CAR_BYTES];
};

static bool has_cars(const struct udp_ep *ep)
{
	return atomic_load_explicit(&ep->gathered, memory_order_relaxed);
}

/* Cars up to @end have left, or failed with @err. */
static void report(struct udp_ep *ep, unsigned int end, int err)
{
	struct udp_burst *burst = ep->out;

	for (; burst->first < end; burst->first++) {
		const struct car *car = &burst->cars[burst->first];

		if (err)
			wf_ep_tx_err(&ep->ep, WF_CNTR_SEND, car->context, car->op_flags,
				FI_SEND | FI_MSG, 0, err);
		else
			wf_ep_tx_done(&ep->ep, WF_CNTR_SEND, car->context,
				car->op_flags, FI_SEND | FI_MSG, car->iov.iov_len);
	}
}

/* The next train, or the next message alone. False: the socket is full. */
static bool send_next(struct udp_ep *ep)
{
	struct udp_burst *burst = ep->out;
	struct wf_datagram datagrams[CARS];
	size_t count = burst->count - burst->first;
	ssize_t taken;
	int err;

	for (size_t i = 0; i < count; i++) {
		const struct iovec *iov = &burst->cars[burst->first + i].iov;

		datagrams[i] = (struct wf_datagram){ iov, 1, iov->iov_len };
	}
	taken = udp_send_train(ep, &burst->to, datagrams, count);
	if (taken >= 0) {
		report(ep, burst->first + (unsigned int)taken, 0);
		return taken > 0;
	}
	err = udp_send_pieces(ep, &burst->to, datagrams[0].iov, 1, 0) < 0 ? errno : 0;
	if (udp_is_full(err))
		return false;
	report(ep, burst->first + 1, err);
	return true;
}

bool udp_burst_flush(struct udp_ep *ep)
{
	struct udp_burst *burst = ep->out;

	if (wf_likely(!has_cars(ep)))
		return true;
	while (burst->first < burst->count)
		if (!send_next(ep))
			return false;
	burst->first = burst->count = 0;
	burst->used = 0;
	atomic_store_explicit(&ep->gathered, false, memory_order_relaxed);
	return true;
}

/* May messages wait for others? */
static bool may_gather(struct udp_ep *ep)
{
	if (ep->ep.domain->progress == FI_PROGRESS_AUTO || wf_ep_is_armed(&ep->ep))
		return false;
	if (!ep->out)
		ep->out = calloc(1, sizeof(*ep->out));
	return ep->out;
}

/* Can the message be the next car? */
static bool fits(const struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	const struct udp_burst *burst = ep->out;

	if (!op->len || op->len > CAR_BYTES || burst->count == CARS)
		return false;
	return !burst->count || !memcmp(&burst->to, to, ep->addr_len);
}

static void add(struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	struct udp_burst *burst = ep->out;
	struct car *car = &burst->cars[burst->count];
	uint8_t *bytes = burst->bytes + burst->used;

	if (!burst->count)
		memcpy(&burst->to, to, ep->addr_len);
	burst->count++;
	burst->used += wf_iov_gather(bytes, op->iov, op->iov_count);
	*car = (struct car){ op->context, op->flags, { bytes, op->len } };
	atomic_store_explicit(&ep->gathered, true, memory_order_relaxed);
}

static ssize_t send_locked(struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	bool more = op->flags & FI_MORE && may_gather(ep);

	if (!more && !has_cars(ep))
		return udp_send_now(ep, op, to);
	if (!fits(ep, op, to)) {
		if (!udp_burst_flush(ep))
			return -FI_EAGAIN;
		if (!more || !fits(ep, op, to))
			return udp_send_now(ep, op, to);
	}
	add(ep, op, to);
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
	ret = send_locked(ep, op, to);
	wf_unlock(&ep->ep.lock);
	return ret;
}

bool udp_flushed(struct wf_ep *wf)
{
	return !has_cars(udp_ep_of(wf));
}
