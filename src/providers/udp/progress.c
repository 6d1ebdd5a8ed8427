/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "providers/udp/burst.h"
#include "sys/calls.h"

/*
 * Progress: datagrams from the sockets into posted receives. A poll of a socket is one
 * system call, and is made only while a receive is posted. While the endpoint is idle,
 * a progress call polls each socket once; after a progress call that found a datagram,
 * the next one polls up to BURST times.
 */

enum { BURST = 16 };

/* Is @c the control message with the destination address, and the destination a
 * multicast group? */
static bool progress_is_group(const struct cmsghdr *c)
{
	union wf_sockaddr to = { 0 };

	if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		to.in.sin_family = AF_INET;
		to.in.sin_addr = info.ipi_addr;
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		to.in6.sin6_family = AF_INET6;
		to.in6.sin6_addr = info.ipi6_addr;
	} else {
		return false;
	}
	return wf_sockaddr_is_multicast(&to);
}

/* Read from the control messages whether the datagram was sent to a multicast group
 * through the endpoint's own socket, and the length of a train's datagrams. */
static void progress_read_control(struct msghdr *msg, struct udp_datagram *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int segment;

		if (progress_is_group(c))
			ret->comp_flags |= FI_MULTICAST;
		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&segment, CMSG_DATA(c), sizeof(segment));
		ret->segment = segment > 0 ? (size_t)segment : 0;
	}
}

ssize_t udp_receive_msg(struct udp_ep *ep, const struct udp_sock *sock,
	struct iovec *iov, size_t iov_count, struct udp_datagram *ret)
{
	_Alignas(struct cmsghdr) uint8_t control[128];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = iov_count };

	ret->comp_flags = sock->comp_flags;
	ret->from_len = 0;
	ret->segment = 0;
	ret->space = ep->source_space;
	ret->source = 0;
	if (ep->want_source || ep->source_space) {
		msg.msg_name = &ret->from;
		msg.msg_namelen = sizeof(ret->from);
	}
	if (ep->pktinfo || ep->train) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
	}
	ret->len = wf_sys_recvmsg(sock->fd, &msg, MSG_TRUNC);
	if (ret->len < 0)
		return ret->len;
	ret->from_len = msg.msg_namelen;
	progress_read_control(&msg, ret);
	return ret->len;
}

void udp_receive_failed(int err)
{
	/* The kernel reports any other error once, such as ECONNREFUSED for a datagram
	 * that this endpoint sent; the next poll receives again. */
	if (err != EAGAIN && err != EINTR)
		udp_log(FI_LOG_INFO, FI_LOG_EP_DATA, "socket error ignored: %s\n",
			fi_strerror(err));
}

/* Receive one datagram into the oldest posted receive; false if there is none. */
static bool udp_progress_receive(struct udp_ep *ep, const struct udp_sock *sock,
	struct udp_rx *rx, struct udp_datagram *ret)
{
	size_t space = ep->source_space;

	ret->comp_flags = sock->comp_flags;
	ret->from_len = 0;
	ret->space = space;
	ret->source = 0;
	if (wf_unlikely(rx->iov_count > 1 || ep->pktinfo)) {
		(void)udp_receive_msg(ep, sock, rx->iov, rx->iov_count, ret);
	} else if (!ep->want_source && !space) {
		ret->len =
			wf_sys_recv(sock->fd, rx->iov[0].iov_base, rx->len, MSG_TRUNC);
	} else {
		ret->from_len = sizeof(ret->from);
		ret->len = wf_sys_recvfrom(sock->fd,
			(uint8_t *)rx->iov[0].iov_base + space, rx->len - space,
			MSG_TRUNC, &ret->from.sa, &ret->from_len);
	}
	if (wf_likely(ret->len >= 0))
		return true;
	udp_receive_failed(errno);
	return false;
}

/* Find the source that the completion reports. False: no AV has the address, and the
 * application asked for such sources to be reported as errors (FI_SOURCE_ERR). */
static bool progress_find_source(
	struct udp_ep *ep, const struct udp_datagram *dg, fi_addr_t *ret)
{
	fi_addr_t index;

	*ret = FI_ADDR_NOTAVAIL;
	if (!ep->want_source)
		return true;
	index = wf_av_index(ep->ep.av, &dg->from, dg->from_len);
	if (index == FI_ADDR_NOTAVAIL)
		return !ep->want_source_err;
	*ret = wf_av_report(ep->ep.av, index);
	return true;
}

static void progress_report_error(struct udp_ep *ep, const struct udp_rx *rx, void *buf,
	size_t len, const struct udp_datagram *dg, int err)
{
	struct fi_cq_err_entry entry = {
		.op_context = rx->context,
		.flags = dg->comp_flags,
		.len = len,
		.buf = buf,
		.olen = (size_t)dg->len - len,
		.err = err,
		.prov_errno = err,
		.src_addr = FI_ADDR_NOTAVAIL,
	};
	union wf_sockaddr from = dg->from;

	if (err == FI_EADDRNOTAVAIL) {
		entry.err_data = &from;
		entry.err_data_size = dg->from_len;
	}
	wf_ep_rx_err(&ep->ep, rx->flags, &entry);
}

/* Write the completion or the error of a datagram in the buffer of @rx. FI_MULTI_RECV
 * in @comp_flags releases the buffer together with the completion. True if a completion
 * with these flags was written. */
static bool progress_report(struct udp_ep *ep, const struct udp_rx *rx, void *buf,
	const struct udp_datagram *dg, uint64_t comp_flags)
{
	fi_addr_t src;

	if (wf_unlikely((size_t)dg->len > rx->len)) {
		progress_report_error(ep, rx, buf, rx->len, dg, FI_ETRUNC);
		return false;
	}
	if (wf_unlikely(!progress_find_source(ep, dg, &src))) {
		progress_report_error(
			ep, rx, buf, (size_t)dg->len, dg, FI_EADDRNOTAVAIL);
		return false;
	}
	wf_ep_rx_done(&ep->ep, rx->context, rx->flags, dg->comp_flags | comp_flags,
		(size_t)dg->len, buf, dg->source, 0, src);
	return rx->flags & FI_COMPLETION;
}

/* Put the source of @dg before it, into the buffer of the oldest receive. */
static void progress_tell_source(const struct udp_rx *rx, struct udp_datagram *dg)
{
	void *space = rx->iov[0].iov_base;

	memcpy(space, &dg->from, sizeof(dg->from));
	dg->source = (uint64_t)(uintptr_t)space;
}

/* Deliver @dg to the next slice of a multi-receive buffer. When fewer than rx->min
 * bytes are left, the buffer is released: by the completion of its last message or, if
 * that message has none, by a completion of its own. */
static void progress_deliver_slice(
	struct udp_ep *ep, struct udp_rx *rx, const struct udp_datagram *dg, bool more)
{
	size_t used = dg->space + WF_MIN((size_t)dg->len, rx->len - dg->space);
	bool last = !more && rx->len - used < WF_MAX(rx->min, ep->source_space + 1);
	uint8_t *buf = rx->iov[0].iov_base;
	struct udp_rx slice = *rx;

	slice.len -= dg->space;
	if (last) {
		ep->rx_tail++;
	} else {
		rx->iov[0].iov_base = buf + used;
		rx->len -= used;
		rx->iov[0].iov_len = rx->len;
	}
	if (!progress_report(
		    ep, &slice, buf + dg->space, dg, last ? FI_MULTI_RECV : 0) &&
		last)
		wf_ep_rx_release(&ep->ep, 0, slice.context);
}

void udp_deliver(struct udp_ep *ep, struct udp_datagram *dg, bool more)
{
	struct udp_rx *rx = &ep->rx[ep->rx_tail & ep->rx_mask];

	if (dg->space)
		progress_tell_source(rx, dg);
	if (wf_unlikely(rx->flags & FI_MULTI_RECV)) {
		progress_deliver_slice(ep, rx, dg, more);
		return;
	}
	ep->rx_tail++;
	(void)progress_report(ep, rx, NULL, dg, 0);
}

static bool progress_receive_one(struct udp_ep *ep, const struct udp_sock *sock)
{
	struct udp_datagram dg;

	if (wf_unlikely(ep->train && sock->fd == ep->fd))
		return udp_train_receive(ep, sock);
	if (!udp_progress_receive(ep, sock, &ep->rx[ep->rx_tail & ep->rx_mask], &dg))
		return false;
	udp_deliver(ep, &dg, false);
	return true;
}

/* Receive up to @limit datagrams; true if there were as many. */
static bool progress_drain(
	struct udp_ep *ep, const struct udp_sock *sock, unsigned int limit)
{
	unsigned int n = 0;

	while (n < limit && ep->rx_head != ep->rx_tail &&
		progress_receive_one(ep, sock))
		n++;
	return n == limit;
}

void udp_progress(struct wf_ep *wf)
{
	struct udp_ep *ep = udp_ep_of(wf);
	unsigned int limit = ep->burst ? BURST : 1, first;
	bool burst = false;

	(void)udp_burst_flush(ep);
	if (ep->rx_head == ep->rx_tail)
		return;
	if (wf_likely(ep->sock_count == 1)) {
		ep->burst = progress_drain(ep, &ep->socks[0], limit);
		if (wf_unlikely(ep->burst && limit == BURST && !ep->train))
			udp_train_open(ep);
		return;
	}
	first = ep->next_sock++;
	for (unsigned int i = 0; i < ep->sock_count; i++)
		burst |= progress_drain(
			ep, &ep->socks[(first + i) % ep->sock_count], limit);
	ep->burst = burst;
}
