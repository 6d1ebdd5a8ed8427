/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "providers/udp/burst.h"
#include "sys/calls.h"

/* Sends, and posting and cancelling of receives. */

/* The socket could not send. A lack of kernel memory is temporary: the application
 * retries. Any other error fails the operation. */
static ssize_t msg_send_failed(struct udp_ep *ep, const struct wf_op *op, int err)
{
	if (udp_is_full(err))
		return -FI_EAGAIN;
	wf_ep_tx_err(&ep->ep, WF_CNTR_SEND, op->context, op->flags, FI_SEND | FI_MSG, 0,
		err);
	return 0;
}

static ssize_t msg_send_once(struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	struct msghdr msg = {
		.msg_name = (void *)(uintptr_t)to,
		.msg_namelen = ep->addr_len,
		.msg_iov = (struct iovec *)(uintptr_t)op->iov,
		.msg_iovlen = op->iov_count,
	};

	if (op->iov_count > 1)
		return wf_sys_sendmsg(ep->fd, &msg, 0);
	return wf_sys_sendto(ep->fd, op->iov_count ? op->iov[0].iov_base : NULL,
		op->len, 0, to, ep->addr_len);
}

ssize_t udp_send_now(struct udp_ep *ep, const struct wf_op *op, const void *to)
{
	ssize_t sent;

	do {
		sent = msg_send_once(ep, op, to);
		/* ECONNREFUSED is the answer to an earlier datagram; the kernel reports
		 * it once. */
	} while (wf_unlikely(sent < 0) && (errno == EINTR || errno == ECONNREFUSED));
	if (wf_unlikely(sent < 0))
		return msg_send_failed(ep, op, errno);
	wf_ep_tx_done(&ep->ep, WF_CNTR_SEND, op->context, op->flags, FI_SEND | FI_MSG,
		op->len);
	return 0;
}

static ssize_t udp_send(struct udp_ep *ep, const struct wf_op *op)
{
	union wf_sockaddr group;
	const void *to;

	if (wf_unlikely(op->flags & FI_MULTICAST))
		to = udp_group_addr(ep, op->addr, &group) ? &group : NULL;
	else
		to = wf_av_addr(ep->ep.av, op->addr);
	if (wf_unlikely(!to))
		return wf_no_address(&udp_fi, op->addr);
	if (udp_in_burst(ep, op))
		return udp_burst_send(ep, op, to);
	return udp_send_now(ep, op, to);
}

static ssize_t udp_post(struct udp_ep *ep, const struct wf_op *op)
{
	struct udp_rx *rx;
	ssize_t ret = 0;

	wf_lock(&ep->ep.lock);
	if (wf_unlikely(ep->rx_head - ep->rx_tail > ep->rx_mask)) {
		ret = -FI_EAGAIN;
		goto out;
	}
	rx = &ep->rx[ep->rx_head & ep->rx_mask];
	rx->context = op->context;
	rx->flags = op->flags;
	rx->len = op->len;
	rx->min = atomic_load_explicit(&ep->ep.min_multi_recv, memory_order_relaxed);
	rx->iov_count = op->iov_count;
	for (size_t i = 0; i < op->iov_count; i++)
		rx->iov[i] = op->iov[i];
	ep->rx_head++;
	if (wf_unlikely(ep->train != NULL))
		udp_train_flush(ep);
	if (wf_unlikely(ep->epfd >= 0))
		udp_watch(ep);
out:
	wf_unlock(&ep->ep.lock);
	return ret;
}

ssize_t udp_start(struct wf_ep *wf, struct wf_op *op)
{
	struct udp_ep *ep = udp_ep_of(wf);

	return op->kind == WF_OP_SEND ? udp_send(ep, op) : udp_post(ep, op);
}

static void msg_report_canceled(struct udp_ep *ep, const struct udp_rx *rx)
{
	struct fi_cq_err_entry entry = {
		.op_context = rx->context,
		.flags = FI_MSG | FI_RECV | (rx->flags & FI_MULTI_RECV),
		.err = FI_ECANCELED,
		.prov_errno = FI_ECANCELED,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	wf_ep_rx_err(&ep->ep, rx->flags, &entry);
}

bool udp_cancel(struct wf_ep *wf, void *context)
{
	struct udp_ep *ep = udp_ep_of(wf);
	uint32_t i = ep->rx_tail;

	if (!context)
		return false;
	while (i != ep->rx_head && ep->rx[i & ep->rx_mask].context != context)
		i++;
	if (i == ep->rx_head)
		return false;
	msg_report_canceled(ep, &ep->rx[i & ep->rx_mask]);
	for (; i + 1 != ep->rx_head; i++)
		ep->rx[i & ep->rx_mask] = ep->rx[(i + 1) & ep->rx_mask];
	ep->rx_head--;
	return true;
}
